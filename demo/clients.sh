# Real clients, what they are expected to see, and the table of what they saw: sourced by scripts/demo after network.sh.
#
# An attempt is a line `client family name expected`; `expected` is what happens while the filter is attached. Its outcome
# is one of: works (the right answer, under the right certificate), silence (the time ran out), or an error with its code.

# Seconds; in emulated kernels clients alone take longer to start.
TIME_LIMIT=$((${MOONHOOK_PATIENCE:-20} / 5))
ATTEMPTS=()

plan_attempts() {
    local family name
    for family in v4 v6; do
        for name in "${OPEN_NAMES[@]}"; do
            ATTEMPTS+=("curl-https $family $name works" "openssl $family $name works")
        done
        for name in "${LISTED_NAMES[@]}"; do
            ATTEMPTS+=("curl-https $family $name silence" "openssl $family $name silence")
        done
        # A listed name that is not in a TLS handshake is none of the filter's business.
        ATTEMPTS+=("curl-http $family ${LISTED_NAMES[0]} works" "openssl $family - works")
    done
}

server_address() {
    case "$1" in
    v4) printf '%s\n' "$SERVER_V4" ;;
    v6) printf '[%s]\n' "$SERVER_V6" ;;
    esac
}

# attempt CLIENT FAMILY NAME: prints the outcome.
attempt() {
    local address answer status=0
    address=$(server_address "$2")
    case "$1" in
    curl-https)
        answer=$(in_client curl -sS --cacert "$WORK/tls/ca.pem" --connect-timeout "$TIME_LIMIT" --max-time "$TIME_LIMIT" \
            --resolve "$3:443:$address" "https://$3/" 2>&1) || status=$?
        ;;
    curl-http)
        answer=$(in_client curl -sS --connect-timeout "$TIME_LIMIT" --max-time "$TIME_LIMIT" \
            --resolve "$3:80:$address" "http://$3/" 2>&1) || status=$?
        ;;
    openssl)
        answer=$(handshake "$address" "$3" 2>&1) || status=$?
        ;;
    esac
    outcome "$status" "$3" "$answer"
}

# handshake ADDRESS NAME: a TLS handshake that checks the certificate; the name `-` sends no SNI at all.
handshake() {
    local name=(-noservername)
    [ "$2" = - ] || name=(-servername "$2" -verify_hostname "$2")
    in_client timeout "$TIME_LIMIT" openssl s_client -connect "$1:443" "${name[@]}" \
        -CAfile "$WORK/tls/ca.pem" -verify_return_error -brief </dev/null &&
        printf 'this is %s\n' "$2"
}

# 28 is curl's code for "the time ran out", 124 that of timeout(1).
outcome() {
    case "$1" in
    0) case "$3" in *"this is $2"*) echo works ;; *) echo "wrong answer" ;; esac ;;
    28 | 124) echo silence ;;
    *) echo "error $1" ;;
    esac
}

# try_all PHASE: every attempt, all at once, outcomes into WORK/PHASE.<number>.
try_all() {
    local number client family name pids=()
    for number in "${!ATTEMPTS[@]}"; do
        read -r client family name _ <<<"${ATTEMPTS[number]}"
        attempt "$client" "$family" "$name" >"$WORK/$1.$number" &
        pids+=("$!")
    done
    wait "${pids[@]}"
}

# Prints a row for each attempt. False if anything differs from what is expected.
print_table() {
    local number client family name expected row wrong=0
    row='%-24s %-17s %-7s %-13s %-9s %-13s %s\n'
    # shellcheck disable=SC2059 # the format is the constant above
    {
        printf "$row" client name over before expected filtered after
        for number in "${!ATTEMPTS[@]}"; do
            read -r client family name expected <<<"${ATTEMPTS[number]}"
            printf "$row" "$(describe "$client")" "${name/#-/(no SNI)}" "IP$family" "$(<"$WORK/before.$number")" "$expected" \
                "$(<"$WORK/filtered.$number")" "$(<"$WORK/after.$number")$(verdict_of "$number" "$expected")"
        done
    }
    for number in "${!ATTEMPTS[@]}"; do
        [ -z "$(verdict_of "$number" "${ATTEMPTS[number]##* }")" ] || wrong=1
    done
    return "$wrong"
}

# Empty when attempt NUMBER went as EXPECTED while filtered, and worked before and after.
verdict_of() {
    if [ "$(<"$WORK/before.$1")" != works ] || [ "$(<"$WORK/after.$1")" != works ] ||
        [ "$(<"$WORK/filtered.$1")" != "$2" ]; then
        echo "   <-- not as expected"
    fi
}

describe() {
    case "$1" in
    curl-https) echo "curl https://" ;;
    curl-http) echo "curl http://" ;;
    openssl) echo "openssl s_client" ;;
    esac
}
