#!/bin/bash
# make_certificates.sh FOLDER: an authority and what tests need of it. Valid from 2020 to 2120, so that neither a test
# nor a cached build outlives them; the keys are worth nothing.
#
#   ca, ca2                two authorities: NAME.pem, NAME.key
#   server                 localhost, *.example.test, 127.0.0.1, ::1 (P-256); both.pem has its key, too
#   other                  other.test (RSA 2048)
#   client, stranger       of ca, of ca2
#   expired                localhost, until 2021
#   locked.key             the key of server under a password
#   server.ocsp            an OCSP response for server, in DER
set -e
out=$1
mkdir -p "$out"
cd "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/index"
cat > "$work/conf" <<END
[req]
distinguished_name = dn
prompt = no
[dn]
CN = unused
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign,digitalSignature
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical,CA:FALSE
subjectAltName = \${ENV::NAMES}
[ca]
default_ca = one
[one]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
copy_extensions = none
[any]
commonName = supplied
END
export NAMES=DNS:unused

authority() {  # NAME
  openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
  openssl req -config "$work/conf" -new -key "$1.key" -subj "/CN=sluice test $1" -out "$work/req"
  openssl ca -config "$work/conf" -batch -notext -selfsign -keyfile "$1.key" -extensions authority \
    -startdate 20200101000000Z -enddate 21200101000000Z -in "$work/req" -out "$1.pem"
}

leaf() {  # NAME AUTHORITY NAMES [END]
  [ -e "$1.key" ] || openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
  openssl req -config "$work/conf" -new -key "$1.key" -subj "/CN=$1" -out "$work/req"
  NAMES=$3 openssl ca -config "$work/conf" -batch -notext -cert "$2.pem" -keyfile "$2.key" -extensions leaf \
    -startdate 20200101000000Z -enddate "${4:-21200101000000Z}" -in "$work/req" -out "$1.pem"
}

{
  authority ca
  authority ca2
  leaf server ca 'DNS:localhost,DNS:*.example.test,IP:127.0.0.1,IP:::1'
  openssl genrsa -out other.key 2048
  leaf other ca DNS:other.test
  leaf client ca DNS:client.test
  leaf stranger ca2 DNS:client.test
  leaf expired ca DNS:localhost 20210101000000Z
  cat server.pem server.key > both.pem
  openssl ec -in server.key -aes128 -passout pass:secret -out locked.key
  openssl ocsp -issuer ca.pem -cert server.pem -reqout "$work/ask"
  openssl ocsp -index "$work/index" -CA ca.pem -rsigner ca.pem -rkey ca.key -reqin "$work/ask" -ndays 36500 \
    -respout server.ocsp
} > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
