#!/bin/sh
# The first step of docker-compose.yml, repeated at every start: gives the volumes to the user of the services, makes
# certificates and keys where they are missing, and hands each service its part. ca.key never leaves the volume "pki".
#   OWNER: UID:GID of the services   SANS: names under which sites reach the server   SITES: names of the sites; empty: no
#   certificates and keys are made here
# `setup.sh renew` makes a new server certificate of the same authority.
set -eu
umask 077

if [ "$(id -u)" = 0 ] && [ "${1:-}" != keys ]; then
    for folder in /volumes/*; do
        # Results of former runs are their owner's: of a folder on the host only the top changes hands.
        if [ "$folder" = /volumes/out ]; then chown "$OWNER" "$folder"; else chown -R "$OWNER" "$folder"; fi
    done
    [ -n "$SITES" ] || exit 0
    exec setpriv --reuid "${OWNER%:*}" --regid "${OWNER#*:}" --clear-groups "$0" keys "$@"
fi
renew=''
if [ "${2:-}" = renew ]; then renew=--renew-server; fi

names=''
for name in $SANS; do names="$names --san $name"; done
# shellcheck disable=SC2086
pfedgp certs $names $renew --client-names $SITES --make-keys --out /volumes/pki/certs

cd /volumes/pki/certs
# Copies appear whole, because services may be reading.
hand_out() { cp "$1" "$2.new" && mv "$2.new" "$2"; }
mkdir -p /volumes/server/clients
for file in ca.crt server.crt server.key; do hand_out "$file" "/volumes/server/$file"; done
for site in $SITES; do
    hand_out "clients/$site.pub" "/volumes/server/clients/$site.pub"
    if [ -d "/volumes/$site" ]; then
        hand_out ca.crt "/volumes/$site/ca.crt"
        hand_out "clients/$site" "/volumes/$site/key"
    fi
done
if [ -d /volumes/operator ]; then hand_out ca.crt /volumes/operator/ca.crt; fi
