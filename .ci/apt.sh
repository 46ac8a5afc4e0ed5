# shellcheck shell=bash
# Sourced by the scripts beside it, which define say(): installing Debian's packages where that is
# possible, on Debian and Ubuntu as root or with sudo.

as_root=()
may_install() {
    command -v apt-get >/dev/null || return 1
    [ "$(id -u)" -eq 0 ] && return
    command -v sudo >/dev/null || return 1
    as_root=(sudo)
    # Without a terminal nobody can type a password.
    [ -t 0 ] || as_root=(sudo -n)
    "${as_root[@]}" true 2>/dev/null
}

updated=
apt_install() {
    may_install || return 1
    say "installing $* with apt-get"
    if [ -z "$updated" ]; then
        # Other sources than the distribution's may fail; the package may be known all the same.
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null \
            || say "apt-get update failed; going on with the packages it knows"
        updated=yes
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@" >/dev/null
}
