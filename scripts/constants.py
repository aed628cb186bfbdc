#!/usr/bin/env python3
"""Write constants.txt and layouts.txt: kernel constants and struct layouts.

Each entry of ROWS names a module, the installed headers that define its names
and the prefix those names share.  The script asks the C preprocessor which
names there are, then compiles and runs a program that prints their values.

Usage: scripts/constants.py crates/load/src/modules     (environment: CC, default gcc)
"""

import os
import re
import subprocess
import sys
import tempfile

CC = os.environ.get("CC", "gcc")

# A line for each header or set of headers, then after a colon the tables its
# names go to: module, prefix and perhaps a filter.  "= A B" keeps only these
# names, "- P Q" drops the names that begin with P or Q and, for "P!", the name P.
ROWS = """
linux/if_ether.h : eth ETH_P_
linux/stat.h : stat S_
linux/signal.h : signal SIG
linux/types.h : notify NOTIFY_, kbd KBD_
linux/vt.h : vt VT_
linux/netdevice.h : netdev NETDEV_
linux/sched.h : task TASK_
linux/bpf.h : xdp XDP_, bpf BPF_ = ANY NOEXIST EXIST MAP_TYPE_HASH MAP_TYPE_ARRAY \
 MAP_TYPE_LRU_HASH MAP_TYPE_QUEUE MAP_TYPE_STACK
linux/socket.h linux/sockios.h sys/socket.h : socket.sock SOCK_
sys/socket.h : socket.af AF_ - FILE!, socket.msg MSG_ - PROXY!
sys/socket.h netinet/in.h : socket.sol SOL_
linux/in.h : socket.ipproto IPPROTO_
asm-generic/socket.h : socket.so SO_ - RCVTIMEO! SNDTIMEO! TIMESTAMP! TIMESTAMPNS! TIMESTAMPING!
linux/netfilter.h : nf.proto NFPROTO_ - DECNET!, nf.inet NF_INET_, nf.netdev NF_NETDEV_, \
 nf.action NF_ = DROP ACCEPT STOLEN QUEUE REPEAT STOP
linux/netfilter_arp.h : nf.arp NF_ARP_
linux/netfilter_ipv4.h : nf.ip.pri NF_IP_PRI_
linux/netfilter_bridge.h : nf.br NF_BR_ - PRI_, nf.br.pri NF_BR_PRI_
linux/netfilter/nf_conntrack_common.h : nf.ct.info IP_CT_ - DIR_ NUMBER NEW_REPLY!, nf.ct.status \
 IPS_ = EXPECTED SEEN_REPLY ASSURED CONFIRMED SRC_NAT DST_NAT SEQ_ADJUST SRC_NAT_DONE \
 DST_NAT_DONE DYING FIXED_TIMEOUT TEMPLATE UNTRACKED NAT_CLASH HELPER OFFLOAD HW_OFFLOAD
linux/netfilter/nf_conntrack_tuple_common.h : nf.ct.dir IP_CT_DIR_ - MAX
linux/netfilter/nf_conntrack_tcp.h : nf.ct.tcp TCP_CONNTRACK_ = NONE SYN_SENT SYN_RECV \
 ESTABLISHED FIN_WAIT CLOSE_WAIT LAST_ACK TIME_WAIT CLOSE LISTEN SYN_SENT2
linux/netlink.h : netlink NLMSG_ = ALIGNTO, netlink.proto NETLINK_ = ROUTE GENERIC, netlink.flag \
 NLM_F_, netlink.type NLMSG_ = NOOP ERROR DONE OVERRUN
linux/genetlink.h : genl.id GENL_ID_, genl.cmd CTRL_CMD_, genl.attr CTRL_ATTR_
linux/rtnetlink.h : rtnetlink.rtm RTM_ - F_, rtnetlink.rta RTA_, rtnetlink.rtn RTN_, \
 rtnetlink.rtprot RTPROT_, rtnetlink.scope RT_SCOPE_, rtnetlink.table RT_TABLE_
linux/if.h : rtnetlink.iff IFF_ = UP BROADCAST LOOPBACK POINTOPOINT RUNNING MULTICAST
linux/if_link.h : rtnetlink.ifla IFLA_ = UNSPEC ADDRESS BROADCAST IFNAME MTU LINK QDISC STATS \
 STATS64 MASTER TXQLEN MAP WEIGHT OPERSTATE LINKMODE LINKINFO GROUP CARRIER CARRIER_CHANGES \
 PROTO_DOWN MIN_MTU MAX_MTU PERM_ADDRESS PHYS_PORT_NAME PARENT_DEV_NAME
linux/if_addr.h : rtnetlink.ifa IFA_
linux/fib_rules.h : rtnetlink.fra FRA_, rtnetlink.fr_act FR_ACT_
linux/nl80211.h : nl80211.cmd NL80211_CMD_ = GET_WIPHY NEW_WIPHY GET_INTERFACE SET_INTERFACE \
 NEW_INTERFACE DEL_INTERFACE START_AP STOP_AP GET_STATION NEW_STATION DEL_STATION SET_STATION \
 GET_SCAN TRIGGER_SCAN NEW_SCAN_RESULTS, nl80211.attr NL80211_ATTR_ = WIPHY WIPHY_NAME WIPHY_FREQ \
 IFINDEX IFNAME IFTYPE MAC SSID BEACON_INTERVAL DTIM_PERIOD BEACON_HEAD BEACON_TAIL STA_AID \
 STA_LISTEN_INTERVAL STA_SUPPORTED_RATES STA_FLAGS2 GENERATION WDEV STA_INFO SCAN_SSIDS BSS, \
 nl80211.staflag NL80211_STA_FLAG_ = AUTHORIZED SHORT_PREAMBLE WME MFP AUTHENTICATED TDLS_PEER \
 ASSOCIATED, nl80211.iftype NL80211_IFTYPE_ = STATION AP MONITOR ADHOC AP_VLAN MESH_POINT
asm/unistd.h : syscall.numbers __NR_ - arch_specific_syscall compat_ syscalls x32_ ia32_
"""

# Names whose kernel value no installed header gives, by module and without
# prefix: NAME=EXPRESSION, or NAME alone for one more than the name before it.
# The comment before one or more of them names the kernel source file.
KERNEL_ONLY = {
    # include/linux/stat.h
    "stat": "IRWXUGO=0777 IALLUGO=07777 IRUGO=0444 IWUGO=0222 IXUGO=0111",
    # arch/x86/include/asm/signal.h, as _NSIG
    "signal": "RTMAX=64",
    # include/linux/notifier.h
    "notify": "DONE=0 OK=1 STOP_MASK=0x8000 BAD=NOTIFY_STOP_MASK|2 STOP=NOTIFY_STOP_MASK|NOTIFY_OK",
    "kbd": "KEYCODE=1 UNBOUND_KEYCODE UNICODE KEYSYM POST_KEYSYM",
    # include/linux/vt.h
    "vt": "ALLOCATE=1 DEALLOCATE WRITE UPDATE PREWRITE",
    # include/linux/netdevice.h; FEATURE_COUNT is in include/linux/netdev_features.h,
    # HASHBITS and HASHENTRIES are in include/net/net_namespace.h
    "netdev": """
UP=1 DOWN REBOOT CHANGE REGISTER UNREGISTER CHANGEMTU CHANGEADDR PRE_CHANGEADDR GOING_DOWN
CHANGENAME FEAT_CHANGE BONDING_FAILOVER PRE_UP PRE_TYPE_CHANGE POST_TYPE_CHANGE POST_INIT
RELEASE NOTIFY_PEERS JOIN CHANGEUPPER RESEND_IGMP PRECHANGEMTU CHANGEINFODATA BONDING_INFO
PRECHANGEUPPER CHANGELOWERSTATE UDP_TUNNEL_PUSH_INFO UDP_TUNNEL_DROP_INFO CHANGE_TX_QUEUE_LEN
CVLAN_FILTER_PUSH_INFO CVLAN_FILTER_DROP_INFO SVLAN_FILTER_PUSH_INFO SVLAN_FILTER_DROP_INFO
OFFLOAD_XSTATS_ENABLE OFFLOAD_XSTATS_DISABLE OFFLOAD_XSTATS_REPORT_USED
OFFLOAD_XSTATS_REPORT_DELTA OFFLOAD_XSTATS_TYPE_L3=1 TX_OK=0 TX_BUSY=0x10 TX_MASK=0xf0
HW_ADDR_T_LAN=1 HW_ADDR_T_SAN HW_ADDR_T_UNICAST HW_ADDR_T_MULTICAST LAG_TX_TYPE_UNKNOWN=0
LAG_TX_TYPE_RANDOM LAG_TX_TYPE_BROADCAST LAG_TX_TYPE_ROUNDROBIN LAG_TX_TYPE_ACTIVEBACKUP
LAG_TX_TYPE_HASH LAG_HASH_NONE=0 LAG_HASH_L2 LAG_HASH_L34 LAG_HASH_L23 LAG_HASH_E23
LAG_HASH_E34 LAG_HASH_VLAN_SRCMAC LAG_HASH_UNKNOWN PCPU_STAT_NONE=0 PCPU_STAT_LSTATS
PCPU_STAT_TSTATS PCPU_STAT_DSTATS ALIGN=32 FCOE_WWNN=0 FCOE_WWPN=1 RSS_KEY_LEN=52
FEATURE_COUNT=64 HASHBITS=8 HASHENTRIES=1<<NETDEV_HASHBITS""",
    # include/linux/sched.h; FREEZABLE_UNSAFE as without CONFIG_LOCKDEP
    "task": """
RUNNING=0 INTERRUPTIBLE=1 UNINTERRUPTIBLE=2 TRACED=8 PARKED=0x40 DEAD=0x80 WAKEKILL=0x100
WAKING=0x200 NOLOAD=0x400 NEW=0x800 RTLOCK_WAIT=0x1000 FREEZABLE=0x2000 FREEZABLE_UNSAFE=0x2000
FROZEN=0x8000 STATE_MAX=0x10000 ANY=TASK_STATE_MAX-1 KILLABLE=TASK_WAKEKILL|TASK_UNINTERRUPTIBLE
STOPPED=TASK_WAKEKILL|4 IDLE=TASK_UNINTERRUPTIBLE|TASK_NOLOAD NORMAL=3 REPORT=0x7f
REPORT_IDLE=TASK_REPORT+1 REPORT_MAX=TASK_REPORT_IDLE<<1 COMM_LEN=16""",
    # include/linux/net.h
    "socket.sock": """MAX=SOCK_PACKET+1 TYPE_MASK=0xf NOSPACE=2 PASSCRED PASSSEC SUPPORT_ZC
WAKE_IO=0 WAKE_WAITD WAKE_SPACE WAKE_URG""",
    # include/linux/socket.h
    "socket.af": "DECnet=12",
    "socket.msg": """PROBE=0x10 EOF=MSG_FIN SENDPAGE_NOPOLICY=0x10000 SENDPAGE_NOTLAST=0x20000
NO_SHARED_FRAGS=0x80000 SENDPAGE_DECRYPTED=0x100000 SPLICE_PAGES=0x8000000
INTERNAL_SENDMSG_FLAGS=MSG_SPLICE_PAGES CMSG_COMPAT=0x80000000""",
    "socket.sol": "TCP=6 UDP=17 SCTP=132 UDPLITE=136 IPX=256 AX25 ATALK NETROM ROSE VSOCK=287",
    # include/uapi/linux/netfilter.h: the kernel has no NFPROTO_DECNET before it
    "nf.proto": "NUMPROTO=NFPROTO_IPV6+1",
    # include/uapi/linux/netfilter/nf_conntrack_common.h, for the kernel alone
    "nf.ct.info": "UNTRACKED=7",
    "nf.ct.status": "NAT_CLASH=IPS_UNTRACKED",
}

# headers : module, name of the layout (=structure, where that is another), fields
LAYOUTS = """
linux/genetlink.h : genl.layout genlmsghdr cmd version reserved
linux/netlink.h : netlink.layout nlattr nla_len nla_type, netlink.layout nlmsgerr error, \
 netlink.layout nlmsghdr nlmsg_len nlmsg_type nlmsg_flags nlmsg_seq nlmsg_pid
linux/fib_rules.h : rtnetlink.layout fib_rule_hdr family dst_len src_len tos table action flags
linux/if_addr.h : rtnetlink.layout ifaddrmsg ifa_family ifa_prefixlen ifa_flags ifa_scope ifa_index
linux/rtnetlink.h : rtnetlink.layout ifinfomsg ifi_family ifi_type ifi_index ifi_flags \
 ifi_change, rtnetlink.layout rtmsg rtm_family rtm_dst_len rtm_src_len rtm_tos rtm_table \
 rtm_protocol rtm_scope rtm_type rtm_flags
linux/time_types.h : socket.layout timeval=__kernel_sock_timeval tv_sec tv_usec
"""


def table(text):
    """Yield the headers and the words of each entry of a table."""
    for line in text.replace("\\\n", "").strip().splitlines():
        headers, entries = line.split(":")
        for entry in entries.split(","):
            yield headers.split(), entry.split()


def compile_c(source, *options):
    """Run the compiler on C text and return what it did."""
    return subprocess.run([CC, "-std=gnu11", "-w", "-D_GNU_SOURCE", "-xc", *options, "-"],
                          input=source, capture_output=True, text=True)


def run_c(source, statements):
    """Run statements and return what they print, or the set of those that do not compile."""
    source += "int printf(const char *, ...);\nint main(void) {\n"
    first = source.count("\n") + 1
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "program")
        result = compile_c(source + "\n".join(statements) + "\n}\n", "-o", program)
        if result.returncode == 0:
            return subprocess.run([program], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^<stdin>:(\d+):.*error", result.stderr, re.M)
    refused = {int(line) - first for line in lines}
    if not refused & set(range(len(statements))):
        sys.exit(result.stderr)
    return refused


def preamble(headers, module="", prefix=""):
    """Return the C text that brings in the headers and the kernel-only names."""
    text, previous = "".join(f"#include <{header}>\n" for header in headers), "-1"
    for definition in KERNEL_ONLY.get(module, "").split():
        name, _, value = definition.partition("=")
        previous = value or f"{previous} + 1"
        text += f"#undef {prefix}{name}\n#define {prefix}{name} ({previous})\n"
    return text


def is_integer_text(text):
    """Tell whether a macro's text is made of numbers, operators and macro names."""
    text = re.sub(r"\b0[xX][0-9a-fA-F]+[uUlL]*", "0", text)
    return not re.search(r"[a-z\"']|\w\s*\(", text)


def names_of(source, prefix):
    """Return the macros and enumerators that begin with the prefix."""
    result = compile_c(source, "-E", "-dD", "-P")
    if result.returncode:
        sys.exit(result.stderr)
    macros = re.findall(r"^#define (\w+)[ \t]+(.+)$", result.stdout, re.M)
    names = {name for name, text in macros if is_integer_text(text)}
    plain = re.sub(r"^#.*$", "", result.stdout, flags=re.M)
    for body in re.findall(r"\benum\b[^{};]*\{([^}]*)\}", plain):
        names.update(re.findall(r"(?:^|,)\s*(\w+)", body))
    return {name for name in names if name.startswith(prefix) and name != prefix}


def wanted(name, sign="-", *words):
    """Apply a row's filter to a name without its prefix."""
    if sign == "=":
        return name in words
    return not any(name + "!" == word or name.startswith(word) for word in words)


def values_of(source, names):
    """Return {name: value}; a name that is no integer constant is left out."""
    names = sorted(names)
    while names:
        result = run_c(source, [f'{{ static const long long value = 0 | ({name}); '
                                f'printf("{name} %lld\\n", value); }}' for name in names])
        if isinstance(result, str):
            return {name: int(value) for name, value in map(str.split, result.splitlines())}
        names = [name for index, name in enumerate(names) if index not in result]
    return {}


def layout_text(headers, module, names, *fields):
    """Return the lines of one layout, its fields in the order of their offsets."""
    name, struct = names.split("=") if "=" in names else (names, names)
    lines = [f'printf("linux.{module} {name} %zu\\n", sizeof(struct {struct}));']
    for field in fields:
        lines.append(f'{{ struct {struct} *at = 0; printf("  {field} %zu %zu %s\\n", '
                     f'__builtin_offsetof(struct {struct}, {field}), sizeof(at->{field}), '
                     f'(__typeof__(at->{field}))-1 < 0 ? "signed" : "unsigned"); }}')
    head, *rest = run_c(preamble(headers), lines).splitlines()
    return "\n".join([head, *sorted(rest, key=lambda line: int(line.split()[1]))]) + "\n"


def main():
    """Write both files into the directory given, or the current one."""
    directory = sys.argv[1] if len(sys.argv) > 1 else "."
    code = values_of("#include <linux/version.h>\n", ["LINUX_VERSION_CODE"])["LINUX_VERSION_CODE"]
    machine = compile_c("", "-dumpmachine").stdout.split("-")[0]
    heading = (f"# Made by scripts/constants.py from Linux {code >> 16}.{code >> 8 & 255}.{code & 255} "
               f"headers (LINUX_VERSION_CODE {code}), {machine}.\n")
    rows = []
    for headers, (module, prefix, *rule) in table(ROWS):
        source = preamble(headers, module, prefix)
        names = {name for name in names_of(source, prefix) if wanted(name[len(prefix):], *rule)}
        found = values_of(source, names)
        listed = {prefix + name for name in rule[1:] if rule[0] == "="}
        if not found or listed - set(found):
            sys.exit(f"linux.{module}: not found: {sorted(listed - set(found))}")
        rows += [("linux." + module, value, name[len(prefix):]) for name, value in found.items()]
    constants = [f"{module} {name} {value}\n" for module, value, name in sorted(rows)]
    layouts = [layout_text(headers, *entry) for headers, entry in table(LAYOUTS)]
    for file, lines in ("constants.txt", constants), ("layouts.txt", sorted(layouts)):
        with open(os.path.join(directory, file), "w", encoding="ascii") as output:
            output.writelines([heading, *lines])


if __name__ == "__main__":
    main()
