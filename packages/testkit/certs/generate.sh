#!/bin/sh
# Remakes the certificates in this folder: only for tests, trusted nowhere, with private keys that are public on purpose.
#
# They are committed so that a machine without openssl can run the tests. All are valid from 2020 to 2120, whatever the
# machine's clock says, but for expired.pem: its one day was in 2020. Needs openssl 1.1.1 or newer.
set -eu
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names='DNS:localhost,DNS:zoo.test,DNS:*.zoo.test,IP:127.0.0.1,IP:::1'

# How the next key is made.
key='-algorithm EC -pkeyopt ec_paramgen_curve:P-256'

# certify <name> <common name> <extension lines> <end of validity> <openssl ca options for the signer>
certify() {
  name=$1 subject=$2 extensions=$3 end=$4
  shift 4
  openssl genpkey -out "$name.key" $key 2> "$work/log"
  openssl req -new -key "$name.key" -subj "/CN=$subject" -out "$work/$name.csr"
  : > "$work/index"
  cat > "$work/ca.cnf" <<CNF
[ca]
default_ca = d
[d]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = p
[p]
commonName = supplied
[e]
$extensions
CNF
  openssl ca -batch -notext -config "$work/ca.cnf" -extensions e -startdate 20200101000000Z -enddate "$end" \
    -in "$work/$name.csr" -out "$name.pem" "$@" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
}

authority="basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign"
leaf() { printf 'subjectAltName = %s\nextendedKeyUsage = serverAuth\nbasicConstraints = CA:FALSE' "$1"; }

century=21200101000000Z
certify ca 'Posthorn test authority' "$authority" $century -selfsign -keyfile ca.key
certify unknown-ca 'Posthorn test authority that nobody trusts' "$authority" $century -selfsign -keyfile unknown-ca.key
certify valid valid "$(leaf "$names")" $century -cert ca.pem -keyfile ca.key
certify expired expired "$(leaf "$names")" 20200102000000Z -cert ca.pem -keyfile ca.key
certify other-name other-name "$(leaf DNS:elsewhere.test)" $century -cert ca.pem -keyfile ca.key
certify other-ca other-ca "$(leaf "$names")" $century -cert unknown-ca.pem -keyfile unknown-ca.key
certify self-signed self-signed "$(leaf "$names")" $century -selfsign -keyfile self-signed.key
# More than 12 KiB of a handshake.
certify large large "$(leaf "$names$(for n in $(seq 400); do printf ',DNS:a-long-name-of-this-receiver-%s.zoo.test' "$n"; done)")" $century -cert ca.pem -keyfile ca.key
# Without it no parameters of DHE are sent.
key='-algorithm RSA -pkeyopt rsa_keygen_bits:2048'
certify rsa rsa "$(leaf "$names")" $century -cert ca.pem -keyfile ca.key
rm ca.key unknown-ca.key unknown-ca.pem
