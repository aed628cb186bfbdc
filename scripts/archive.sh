# Packages of Debian's other suites, without touching the machine's own apt: sourced by scripts/setup and scripts/kernels.

# archive_config FOLDER SUITE…: makes in FOLDER a configuration of apt's of its own, for suites of the archives that this machine uses
# (those with `-security` come from its security archive), fetches their lists, and prints what APT_CONFIG has to be.
archive_config() {
    local folder=$1 uris archive security suite
    shift
    uris=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u)
    archive=$(grep -m 1 '/debian/$' <<<"$uris") || return 1
    security=$(grep -m 1 '/debian-security/$' <<<"$uris") || security=${archive%/debian/}/debian-security/
    mkdir -p "$folder/sources" "$folder/lists/partial" "$folder/cache/archives/partial"
    for suite in "$@"; do
        case "$suite" in
        *-security) printf 'URIs: %s\n' "$security" ;;
        *) printf 'URIs: %s\n' "$archive" ;;
        esac
        printf 'Types: deb\nSuites: %s\nComponents: main\nSigned-By: %s\n\n' "$suite" \
            /usr/share/keyrings/debian-archive-keyring.gpg
    done >"$folder/sources/archive.sources"
    cat >"$folder/apt.conf" <<CONFIG
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$folder/sources";
Dir::State::Lists "$folder/lists";
Dir::Cache "$folder/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
CONFIG
    APT_CONFIG=$folder/apt.conf apt-get -q update >&2 </dev/null || return 1
    printf '%s\n' "$folder/apt.conf"
}

# archive_download CONFIG FOLDER PACKAGE…: the packages' files, in FOLDER.
archive_download() {
    local config=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    (cd "$folder" && APT_CONFIG=$config apt-get -q download "$@" >&2 </dev/null)
}
