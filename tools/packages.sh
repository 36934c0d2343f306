#!/usr/bin/env bash
# Install the Debian packages that are named, as root, and start none of the servers in them.
#
# Maintainer scripts start, stop and restart services through invoke-rc.d or
# deb-systemd-invoke; both ask policy-rc.d, and 101 means no. A policy that was
# there before is put back, whatever happens. Should this script be killed in
# between (SIGKILL), its policy notices that its maker is gone and steps aside.
set -euo pipefail

policy=/usr/sbin/policy-rc.d
saved=$policy.before-stocktake
mark='# made by stocktake tools/packages.sh'

restore_policy() {
    if [ -e "$policy" ] && grep -qF "$mark" "$policy"; then
        rm -f -- "$policy"
    fi
    if [ -e "$saved" ] || [ -L "$saved" ]; then
        mv -f -- "$saved" "$policy"
    fi
}

refuse_starts() {
    restore_policy
    if [ -e "$policy" ] || [ -L "$policy" ]; then
        mv -- "$policy" "$saved"
    fi
    cat >"$policy" <<POLICY
#!/bin/sh
$mark
kill -0 $$ 2>/dev/null && exit 101
[ -x $saved ] && exec $saved "\$@"
exit 0
POLICY
    chmod 755 "$policy"
}

# apt waits for dpkg's lock by itself, but not for the one on its lists.
update_lists() {
    local tries=0
    until apt-get "${options[@]}" update 2>&1 | tee "$log"; do
        grep -q 'Could not get lock' "$log" && [ $((tries += 1)) -lt 60 ] || return 1
        sleep 5
    done
}

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C
options=(
    -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold
)

exec {turn}<"$0" # two runs at once take turns, or one would save the other's policy
flock "$turn"
log=$(mktemp)
trap 'restore_policy; rm -f -- "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
refuse_starts
# A third party's broken repository must not stop us; what is truly missing, the next command names.
update_lists || echo "apt-get update failed; going on with the lists that are here"
apt-get "${options[@]}" install --no-install-recommends -- "$@" {turn}<&-
