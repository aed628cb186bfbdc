fn main() -> std::process::ExitCode {
    moonhook_cli::main()
}
