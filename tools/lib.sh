# Shared by tools/demo and tools/test: from a fresh Debian 12 machine to a working .venv.
#
# Everything here is idempotent, and a second run costs next to nothing: dpkg is
# asked what is missing, and .venv carries a stamp of what it was built from.
# All output goes to stderr; stdout belongs to the command that comes after.

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$top/.venv
stamp=$venv/.stocktake-stamp
python=/usr/bin/python3
program=tools/$(basename -- "$0")
logs=$(mktemp -d -t stocktake-tools.XXXXXX)
trap 'rm -rf -- "$logs"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '%s: %s\n' "$program" "$*" >&2; }

die() {
    say "error: $*"
    exit 1
}

# step TITLE COMMAND...: one progress line with the time it took. A failure ends
# the program with the end of the step's log; the whole log stays for reading.
step() {
    local title=$1 log=$logs/step.log start=$EPOCHREALTIME kept
    shift
    printf '%s: %s ... ' "$program" "$title" >&2
    if "$@" >"$log" 2>&1 </dev/null; then
        printf '%s s\n' "$(seconds_since "$start")" >&2
        return
    fi
    kept=$(mktemp -t stocktake-tools-failed.XXXXXX.log)
    cp -- "$log" "$kept"
    printf 'failed after %s s\n' "$(seconds_since "$start")" >&2
    tail -n 25 -- "$log" | sed 's/^/    /' >&2
    die "$title failed; the whole log: $kept"
}

# Seconds, with one digit behind the point, since an $EPOCHREALTIME.
seconds_since() {
    local tenths=$(((${EPOCHREALTIME//[.,]/} - ${1//[.,]/}) / 100000))
    printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# wanted_packages PROFILE...: the packages of bindep.txt that have no profile or
# one of these. Of bindep's language only what the file uses is understood:
# comments, one bracket of words; platform:dpkg is this platform, any other is not.
wanted_packages() {
    local line name words word chosen profiled
    while IFS= read -r line || [ -n "$line" ]; do
        line=${line%%#*}
        read -r name words <<<"$line"
        [ -n "$name" ] || continue
        words=${words#*[}
        chosen=no profiled=no
        for word in ${words%%]*}; do
            case $word in
            platform:dpkg) ;;
            platform:*) continue 2 ;;
            *)
                profiled=yes
                case " $* " in *" $word "*) chosen=yes ;; esac
                ;;
            esac
        done
        [ $profiled = yes ] && [ $chosen = no ] || printf '%s\n' "$name"
    done <"$top/bindep.txt"
}

# missing_packages NAME...: those that dpkg does not know as installed.
missing_packages() {
    local installed name
    installed=" $(dpkg-query -W -f '${Package}=${db:Status-Status} ' "$@" 2>/dev/null || true)"
    for name; do
        case $installed in *" $name=installed "*) ;; *) printf '%s\n' "$name" ;; esac
    done
}

# install_packages PROFILE...: what bindep.txt asks for and the machine lacks.
install_packages() {
    local wanted missing as_root=()
    mapfile -t wanted < <(wanted_packages "$@")
    command -v dpkg-query >/dev/null ||
        die "this machine has no dpkg; install the equivalents of: ${wanted[*]}"
    mapfile -t missing < <(missing_packages "${wanted[@]}")
    if [ ${#missing[@]} -eq 0 ]; then
        say "Debian packages: none of ${#wanted[@]} is missing"
        return
    fi
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null ||
            die "Debian packages are missing: ${missing[*]}. Run this as root, or as a user whose" \
                "'sudo -n' works, or install them yourself: apt-get install ${missing[*]}"
        as_root=(sudo -n)
    fi
    say "missing Debian packages: ${missing[*]}"
    step "installing ${#missing[@]} Debian packages" "${as_root[@]}" bash "$top/tools/packages.sh" "${missing[@]}"
}

# What .venv was built from. The interpreter and the folder belong to it: a venv
# does not survive a new minor version of Python, nor being moved.
venv_stamp() {
    printf '%s %s ' "$venv" "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    (cd -- "$top" && sha256sum setup.cfg setup.py requirements.txt pyproject.toml) | sha256sum | cut -c 1-64
}

# A venv that was copied, moved or lost its interpreter: its scripts name another
# path (a long path is named in the second line), or Python no longer starts.
venv_works() {
    [ -x "$venv/bin/python" ] && [ -f "$venv/bin/pip" ] &&
        head -n 3 "$venv/bin/pip" | grep -qF "$venv/bin/python" &&
        "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.prefix == sys.base_prefix)' 2>/dev/null
}

# pbr asks git for the version. Without a checkout that git agrees to read (a
# tarball, a folder of another user: safe.directory) it refuses to build, and of a
# shallow clone it makes 0.0.0 without a word.
git_knows_version() {
    [ "$(git -C "$top" rev-parse --show-toplevel 2>/dev/null)" = "$top" ] &&
        git -C "$top" rev-parse --verify -q HEAD >/dev/null &&
        [ "$(git -C "$top" rev-parse --is-shallow-repository)" = false ]
}

install_into_venv() {
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 SKIP_GENERATE_AUTHORS=1 SKIP_WRITE_GIT_CHANGELOG=1
    if [ -z "${PBR_VERSION:-}" ] && ! git_knows_version; then
        PBR_VERSION=$(sed -n 's/^version *= *//p' "$top/setup.cfg")
        export PBR_VERSION
    fi
    cd -- "$top" && "$venv/bin/python" -m pip install -e ".[$1]" &&
        "$venv/bin/python" -c 'import importlib.metadata as m, sys
v = m.version("stocktake"); print("installed version:", v); sys.exit(v == "0.0.0")'
}

# make_venv EXTRA: .venv with this tree, editable, and that extra of setup.cfg.
# "test" holds all of "demo", so a venv stamped for it serves both. The stamp has a line for each extra.
make_venv() {
    local wanted lock kept
    [ -x "$python" ] || die "$python is missing"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "$python is older than 3.11"
    [ -w "$top" ] || die "$top is not writable by $(id -un): .venv is made there"
    exec {lock}<"$top/tools/lib.sh" # two runs at once in one tree take turns
    flock "$lock"
    wanted=$(venv_stamp)
    if venv_works && grep -qxF -e "test $wanted" -e "$1 $wanted" "$stamp" 2>/dev/null; then
        say ".venv: up to date"
    else
        # Extras that were installed from the same files stay: tools/docs and tools/test share .venv.
        kept=$(grep -sF -e " $wanted" "$stamp") || kept=
        rm -f -- "$stamp"
        venv_works || step "making .venv" "$python" -m venv --clear "$venv"
        step "installing stocktake[$1] and its requirements into .venv" install_into_venv "$1"
        printf '%s\n' ${kept:+"$kept"} "$1 $wanted" >"$stamp"
    fi
    exec {lock}<&-
}

# prepare EXTRA PROFILE...: everything before the command itself.
prepare() {
    local start=$EPOCHREALTIME extra=$1
    shift
    install_packages "$@"
    make_venv "$extra"
    say "ready after $(seconds_since "$start") s"
}

# become COMMAND...: the command takes this process over; nothing of ours stays behind.
become() {
    rm -rf -- "$logs"
    exec "$@"
}
