# Shared by the scripts of this folder, by .ci/run and by tests/e2e: sourced, never run.
# Sets REPO (absolute path of the working copy) and puts the usual places of cargo and of system tools on PATH.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:${CARGO_HOME:-$HOME/.cargo}/bin"

die() {
    printf '%s: error: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

note() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# The folder that cargo builds into, as an absolute path.
target_dir() {
    case "${CARGO_TARGET_DIR:-target}" in
    /*) printf '%s\n' "$CARGO_TARGET_DIR" ;;
    *) printf '%s\n' "$REPO/${CARGO_TARGET_DIR:-target}" ;;
    esac
}

# Mounts the BPF file system where programs and maps are pinned. A host that does not allow it is no error here:
# whoever needs a pin says so.
mount_bpffs() {
    [ "$(stat -f -c %T /sys/fs/bpf 2>/dev/null)" = bpf_fs ] && return 0
    mount -t bpf bpf /sys/fs/bpf 2>/dev/null || true
}
