#!/bin/sh
# The second step of docker-compose.yml: each client's own volume gets its part of scikit-learn's handwritten digits.
# They are the first three of five parts, so that the clients hold different classes; the same federation as in
#   pfedgp simulate --clients 5 --classes-per-client 4 --set unseen-clients=2 --clients-per-round 3 --seed S
set -eu
for client in client-00 client-01 client-02; do
    if [ -d "/volumes/$client/digits" ]; then
        echo "$client has its data already."
    else
        pfedgp export-client --dataset digits --clients 5 --classes-per-client 4 --seed "${SEED:-0}" \
            --client "$client" --out "/volumes/$client/digits"
    fi
done
