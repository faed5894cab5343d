#!/usr/bin/env bash
# A Docker engine with compose and buildx for the container test, on a Debian machine that has none. Needs root.
#   docker/ci_engine.sh check    exit 0 where an engine runs or can be started; else the reason
#   docker/ci_engine.sh up       packages, daemon, base image; idempotent, leaves an engine that runs alone
#   docker/ci_engine.sh down     ends the daemon that `up` started, and removes its firewall rules
# Packages and the base image come from where this machine's own apt gets them. ENGINE_HOME: folder of the engine's data.
set -euo pipefail

ENGINE_HOME=${ENGINE_HOME:-/var/lib/pfedgp-engine}
BASE=${BASE:-python:3.11-slim-bookworm}
RELEASE=bookworm              # of the base image
PLUGINS_FROM=trixie           # Debian 12 has neither compose 2 nor buildx; these need nothing else from the next release
ADDRESSES=198.18.0.1/24       # for benchmarks (RFC 2544), so they meet no network of this machine
POOL=base=198.19.0.0/16,size=24
export DEBIAN_FRONTEND=noninteractive

say() { printf 'engine: %s\n' "$*"; }
# A dockerd that has ended may stay as a zombie where nobody reaps it.
alive() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = dockerd ] && ! grep -q '^State:.Z' "/proc/$1/status"; }
running() { docker info >/dev/null 2>&1; }
complete() { docker compose version >/dev/null 2>&1 && docker buildx version >/dev/null 2>&1; }

check() {
    if running; then
        complete || { say "the engine that runs here has no compose plugin or no buildx plugin"; return 1; }
    elif [ "$(id -u)" != 0 ]; then
        say "no Docker engine runs here, and only root can start one"; return 1
    elif ! grep -qs '^ID=debian$' /etc/os-release; then
        say "no Docker engine runs here, and this script can install one on Debian only"; return 1
    fi
}

mirror() {
    awk '/^URIs:/ {print $2; exit} /^deb / {for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) {print $i; exit}}' \
        /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null
}

install_packages() {
    if command -v dockerd >/dev/null && command -v debootstrap >/dev/null && complete; then return; fi
    say "installing packages (log: $ENGINE_HOME/apt.log)"
    {
        apt-get -q update
        apt-get -q install -y --no-install-recommends containerd runc iptables debootstrap ca-certificates
        # A package list of its own: nothing of this machine's apt is changed, and nothing else is upgraded.
        local lists=$ENGINE_HOME/apt
        mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
        chmod -R a+rX "$ENGINE_HOME"
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $PLUGINS_FROM main" >"$lists/sources"
        local apt=(apt-get -q -o Dir::Etc::sourcelist="$lists/sources" -o Dir::Etc::sourceparts=/dev/null
            -o Dir::State::lists="$lists/lists" -o Dir::Cache="$lists/cache")
        "${apt[@]}" update
        "${apt[@]}" install -y --no-install-recommends --no-remove docker.io docker-cli docker-compose docker-buildx
        rm -rf "$lists"
    } >"$ENGINE_HOME/apt.log" 2>&1 || { tail -5 "$ENGINE_HOME/apt.log" >&2; say "the packages cannot be installed" >&2; exit 1; }
}

start_daemon() {
    if running; then return; fi
    say "starting dockerd (log: $ENGINE_HOME/dockerd.log)"
    iptables -S FORWARD | awk '/^-P/ {print $3}' >"$ENGINE_HOME/forward.before"
    cat /proc/sys/net/ipv4/ip_forward >"$ENGINE_HOME/ip_forward.before"
    rm -f "$ENGINE_HOME/dockerd.pid"
    setsid nohup dockerd --data-root "$ENGINE_HOME/data" --exec-root "$ENGINE_HOME/exec" \
        --pidfile "$ENGINE_HOME/dockerd.pid" --bip "$ADDRESSES" --default-address-pool "$POOL" \
        >"$ENGINE_HOME/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 120); do
        if running; then return; fi
        sleep 0.5
    done
    tail -20 "$ENGINE_HOME/dockerd.log" >&2
    say "dockerd did not come up" >&2
    exit 1
}

# Without a registry: the same Python of the same Debian release, from Debian's own packages.
base_image() {
    if docker image inspect "$BASE" >/dev/null 2>&1 || timeout 60 docker pull -q "$BASE" >/dev/null 2>&1; then return; fi
    say "making $BASE with debootstrap"
    local root=$ENGINE_HOME/rootfs
    rm -rf "$root"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$RELEASE" "$root" "$(mirror)" \
        >"$ENGINE_HOME/debootstrap.log" 2>&1 || { tail -5 "$ENGINE_HOME/debootstrap.log" >&2; exit 1; }
    ln -s /usr/bin/python3 "$root/usr/local/bin/python"
    # debootstrap leaves this machine's resolver, name and package source in the tree.
    rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root/etc/hostname" \
        "$root"/usr/share/{doc,man,locale}/*
    echo "deb http://deb.debian.org/debian $RELEASE main" >"$root/etc/apt/sources.list"
    : >"$root/etc/resolv.conf"
    : >"$root/etc/machine-id"
    tar -C "$root" --numeric-owner -c . | docker import --change 'CMD ["python3"]' \
        --change 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8' \
        --change 'LABEL stand-in=debootstrap' - "$BASE" >/dev/null
    rm -rf "$root"
}

down() {
    local pid
    pid=$(cat "$ENGINE_HOME/dockerd.pid" 2>/dev/null) || { say "none of ours runs"; return; }
    if alive "$pid"; then kill "$pid"; fi
    for _ in $(seq 120); do
        if ! alive "$pid"; then break; fi
        sleep 0.5
    done
    iptables-save | grep -vE 'DOCKER|docker0|[io] br-[0-9a-f]{12}' | iptables-restore
    iptables -P FORWARD "$(cat "$ENGINE_HOME/forward.before")"
    cat "$ENGINE_HOME/ip_forward.before" >/proc/sys/net/ipv4/ip_forward
    if ip link show docker0 >/dev/null 2>&1; then ip link del docker0; fi
    rm -f "$ENGINE_HOME/dockerd.pid"
    say "stopped; images and volumes stay in $ENGINE_HOME"
}

case ${1:-} in
check) check ;;
up)
    check
    mkdir -p "$ENGINE_HOME"
    if ! running; then
        install_packages
        start_daemon
    fi
    base_image
    say "ready: $(docker version -f '{{.Server.Version}}'), compose $(docker compose version --short)"
    ;;
down) down ;;
*)
    sed -n '2,6s/^# //p' "$0" >&2
    exit 2
    ;;
esac
