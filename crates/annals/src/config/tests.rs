use std::os::unix::ffi::OsStringExt as _;

use annals_core::{ClassicPolicy, Network, Scope};

use super::*;

const FILE: &str = "annals.toml";
const CONTRACT: &str = "CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA";

/// What each layer gives.
#[derive(Default)]
struct Given3<'a> {
    flags: &'a [(Key, &'a str)],
    environment: &'a [(&'a str, &'a str)],
    file: &'a str,
}

impl Given3<'_> {
    fn ask<T>(&self, ask: impl Fn(&Settings) -> Result<T, ConfigError>) -> Result<T, ConfigError> {
        let mut flags = Flags::default();
        for (key, value) in self.flags {
            flags.give(*key, [(*value).to_owned()]);
        }
        let variable = |key: Key| {
            let found = self.environment.iter().find(|(variable, _)| *variable == key.variable());
            found.map(|(_, value)| (key, OsString::from(value)))
        };
        let environment = Key::ALL.into_iter().filter_map(variable).collect();
        let file = parse_file(Path::new(FILE), self.file)?;
        ask(&Settings::new(Layers { flags, environment, file }))
    }

    fn refusal<T: fmt::Debug>(&self, ask: impl Fn(&Settings) -> Result<T, ConfigError>) -> String {
        self.ask(ask).unwrap_err().to_string()
    }
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
    let flags = [(Key::DataDir, "flag")];
    let environment = [("DATA_DIR", "environment")];
    let file = "data_dir = 'file'";
    let data_dir = |given: &Given3<'_>| given.ask(Settings::data_dir).unwrap().display().to_string();
    assert_eq!(data_dir(&Given3 { flags: &flags, environment: &environment, file }), "flag");
    assert_eq!(data_dir(&Given3 { environment: &environment, file, ..Given3::default() }), "environment");
    assert_eq!(data_dir(&Given3 { file, ..Given3::default() }), "file");
    assert_eq!(data_dir(&Given3::default()), "annals-data");
}

#[test]
fn the_layers_are_merged_key_by_key() {
    let given = Given3 {
        flags: &[(Key::From, "5")],
        environment: &[("TO", "9"), ("FROM", "not read")],
        file: "to = 'not read'\nclassic = 'drop'",
    };
    assert_eq!(given.ask(Settings::window).unwrap().unwrap().to_string(), "5-9");
    assert_eq!(given.ask(Settings::classic).unwrap(), ClassicPolicy::Drop);
}

#[test]
fn a_list_of_a_higher_layer_replaces_the_lower_one_whole() {
    let file = format!("contract = ['{CONTRACT}', 'nonsense']");
    let given = Given3 { flags: &[(Key::Contract, CONTRACT)], file: &file, ..Given3::default() };
    let Scope::Contracts(contracts) = given.ask(Settings::scope).unwrap() else { panic!("one contract was named") };
    assert_eq!(contracts.len(), 1);
    assert_eq!(Given3::default().ask(Settings::scope).unwrap(), Scope::All);
    let listed = format!("{CONTRACT}, {CONTRACT}");
    let given = Given3 { environment: &[("CONTRACT", &listed)], ..Given3::default() };
    assert!(matches!(given.ask(Settings::scope).unwrap(), Scope::Contracts(contracts) if contracts.len() == 1));
}

#[test]
fn each_key_has_one_spelling_in_three_forms() {
    for key in Key::ALL {
        assert_eq!(key.flag().trim_start_matches("--").replace('-', "_"), key.as_str());
        let prefix = if key == Key::Rpc { "annals_" } else { "" };
        assert_eq!(key.variable().to_ascii_lowercase(), format!("{prefix}{}", key.as_str()));
        assert_eq!(Key::from_name(key.as_str()), Some(key));
    }
}

#[test]
fn an_unknown_key_is_refused_by_its_name_and_its_file() {
    let refusal = Given3 { file: "data-dir = 'a'", ..Given3::default() }.refusal(Settings::data_dir);
    assert!(refusal.starts_with("annals.toml has the unknown key \"data-dir\": the keys are data_dir, "), "{refusal}");
    let refusal = Given3 { file: "\ndata_dir = ", ..Given3::default() }.refusal(Settings::data_dir);
    assert!(refusal.starts_with("line 2 of the configuration file annals.toml is no TOML: "), "{refusal}");
}

#[test]
fn a_bad_value_names_its_key_where_it_came_from_and_what_is_right() {
    let flags = [(Key::Classic, "maybe")];
    let refusal = Given3 { flags: &flags, ..Given3::default() }.refusal(Settings::classic);
    assert_eq!(refusal, "--classic is \"maybe\" and takes keep or drop");
    let refusal = Given3 { environment: &[("NETWORK", "pub")], ..Given3::default() }.refusal(Settings::network);
    assert_eq!(refusal, "NETWORK in the environment is \"pub\" and takes pubnet, testnet, futurenet or local");
    let refusal = Given3 { file: "mixed_layout = 1", ..Given3::default() }.refusal(Settings::source);
    assert_eq!(refusal, "mixed_layout in annals.toml is \"1\" and takes true or false");
    let refusal = Given3 { file: "pin = ['5:abc']", ..Given3::default() }.refusal(Settings::pins);
    assert_eq!(refusal, "pin in annals.toml is \"5:abc\" and takes LEDGER:HASH, the hash as 64 hexadecimal digits");
    let refusal = Given3 { environment: &[("DATA_DIR", "")], ..Given3::default() }.refusal(Settings::data_dir);
    assert_eq!(refusal, "DATA_DIR in the environment is \"\" and takes a path");
    let refusal =
        Given3 { flags: &[(Key::Log, "annals=loud")], ..Given3::default() }.refusal(|settings| settings.log("info"));
    assert!(refusal.starts_with("--log is \"annals=loud\" and takes off, error, "), "{refusal}");
}

#[test]
fn an_environment_value_that_is_no_text_is_refused() {
    let environment = |name: &str| (name == "DATA_DIR").then(|| OsString::from_vec(vec![0xff]));
    let layers = Layers::load(Flags::default(), environment, None).unwrap();
    let refusal = Settings::new(layers).data_dir().unwrap_err().to_string();
    assert!(refusal.ends_with("and takes text in UTF-8"), "{refusal}");
}

#[test]
fn a_whole_range_in_from_needs_no_to() {
    let window = |given: &Given3<'_>| given.ask(Settings::window).unwrap().unwrap().to_string();
    assert_eq!(window(&Given3 { flags: &[(Key::From, "5:9")], ..Given3::default() }), "5-9");
    assert_eq!(window(&Given3 { file: "from = '5:+3'", ..Given3::default() }), "5-7");
    let overridden = Given3 { flags: &[(Key::From, "5:9")], environment: &[("TO", "7")], ..Given3::default() };
    assert_eq!(window(&overridden), "5-9", "a range of a higher layer is the whole window");
    let both = Given3 { flags: &[(Key::From, "5:9"), (Key::To, "7")], ..Given3::default() };
    assert_eq!(
        both.refusal(Settings::window),
        "--from and --to cannot both be given: a whole range in --from needs no --to"
    );
    let cut = Given3 { flags: &[(Key::To, "7")], file: "from = '5:9'", ..Given3::default() };
    assert!(cut.refusal(Settings::window).starts_with("from in annals.toml and --to cannot both be given"));
}

#[test]
fn a_bad_window_names_the_flag() {
    let window = |flags: &[(Key, &str)]| Given3 { flags, ..Given3::default() }.refusal(Settings::window);
    assert_eq!(
        window(&[(Key::From, "9"), (Key::To, "5")]),
        "--to is \"5\" and takes a ledger at or above the first one, 9"
    );
    for text in ["0", "2147483648", "abc", "-5", "1.5"] {
        assert!(window(&[(Key::From, text), (Key::To, "9")]).starts_with("--from is \""), "{text}");
        assert!(window(&[(Key::From, "1"), (Key::To, text)]).starts_with("--to is \""), "{text}");
        assert!(window(&[(Key::To, text)]).starts_with("--to is \""), "{text}");
    }
    assert!(window(&[(Key::From, "9:5")]).starts_with("--from is \"9:5\""));
    assert!(window(&[(Key::From, "9")]).starts_with("the last ledger is missing: give --to"));
    assert_eq!(window(&[(Key::To, "9")]), "the first ledger is missing: give --from");
    assert_eq!(Given3::default().ask(Settings::window).unwrap(), None);
}

#[test]
fn two_names_of_the_network_in_one_layer_must_agree_and_a_higher_layer_wins() {
    let network = |given: &Given3<'_>| given.ask(Settings::network).unwrap();
    let pubnet = Network::preset("pubnet");
    let passphrase = pubnet.as_ref().unwrap().passphrase().to_owned();
    let agreeing =
        Given3 { flags: &[(Key::Network, "pubnet"), (Key::NetworkPassphrase, &passphrase)], ..Given3::default() };
    assert_eq!(network(&agreeing), pubnet);
    let flags = [(Key::NetworkPassphrase, "Standalone Network ; February 2017")];
    let layered = Given3 { flags: &flags, file: "network = 'pubnet'", ..Given3::default() };
    assert_eq!(network(&layered).unwrap().passphrase(), "Standalone Network ; February 2017");
    let reversed = Given3 { flags: &[(Key::Network, "pubnet")], file: "network_passphrase = 'x'", ..Given3::default() };
    assert_eq!(network(&reversed), pubnet);
    let torn = Given3 { file: "network = 'pubnet'\nnetwork_passphrase = 'x'", ..Given3::default() };
    assert!(torn.refusal(Settings::network).contains("cannot both be given"));
}

#[test]
fn a_lake_and_a_file_in_one_layer_are_refused_and_a_higher_layer_wins() {
    let both = Given3 { flags: &[(Key::Lake, "a"), (Key::Ledgers, "b")], ..Given3::default() };
    assert_eq!(
        both.refusal(Settings::source),
        "--lake and --ledgers cannot both be given: ledgers of a backfill come from one source at a time"
    );
    let layered =
        Given3 { environment: &[("LEDGERS", "b")], file: "lake = 'a'\nmixed_layout = true", ..Given3::default() };
    assert_eq!(layered.ask(Settings::source).unwrap(), Some(SourceChoice::Ledgers { path: "b".into() }));
    let lake = Given3 { file: "lake = 'a'\nmixed_layout = true", ..Given3::default() };
    let folder = LakeChoice::Folder { path: "a".into(), mixed_layout: true };
    assert_eq!(lake.ask(Settings::source).unwrap(), Some(SourceChoice::Lake(folder)));
}

#[test]
fn a_backfill_reads_one_lake_and_the_public_one_is_that_of_its_network() {
    let two = Given3 { environment: &[("LAKE", "a, https://lake.example/b")], ..Given3::default() };
    assert_eq!(
        two.refusal(Settings::source),
        "LAKE in the environment is \"a, https://lake.example/b\" and takes one lake, a folder or an address: a backfill \
         reads one"
    );
    let public = Given3 { flags: &[(Key::Lake, "public")], ..Given3::default() };
    assert_eq!(public.ask(Settings::source).unwrap(), Some(SourceChoice::Lake(LakeChoice::Public)));
    let address = public_lake(&Network::preset("pubnet").unwrap()).unwrap().to_string();
    assert_eq!(address, "https://aws-public-blockchain.s3.us-east-2.amazonaws.com/v1.1/stellar/ledgers/pubnet");
    let refusal = public_lake(&Network::preset("local").unwrap()).unwrap_err();
    assert_eq!(
        (refusal.to_string().as_str(), refusal.code()),
        ("no public lake of the network \"local\" is known: give --lake a folder or an address", "NO_PUBLIC_LAKE")
    );
    let empty = Given3 { environment: &[("LAKE", "")], ..Given3::default() };
    assert_eq!(
        empty.refusal(Settings::source),
        "LAKE in the environment is \"\" and takes a path, an address or public"
    );
}

#[test]
fn a_server_follows_by_rpc_with_lakes_beside() {
    let following = |given: &Given3<'_>| given.ask(Settings::following).unwrap();
    let folder = |path: &str| LakeChoice::Folder { path: path.into(), mixed_layout: false };
    let given = Given3 {
        flags: &[(Key::Rpc, "https://one.example"), (Key::Rpc, "https://two.example")],
        environment: &[("LAKE", "near,https://lake.example/far,public")],
        file: "rpc = ['https://unheard.example']",
    };
    let FollowChoice { rpc, lakes } = following(&given).unwrap();
    assert_eq!(rpc.iter().map(ToString::to_string).collect::<Vec<_>>(), ["https://one.example", "https://two.example"]);
    let far = LakeChoice::Address(crate::source::Address::parse("https://lake.example/far").unwrap());
    assert_eq!(lakes, [folder("near"), far, LakeChoice::Public]);
    let listed = Given3 { file: "rpc = 'https://one.example'\nlake = ['a', 'b']", ..Given3::default() };
    assert_eq!(following(&listed).unwrap().lakes, [folder("a"), folder("b")]);
    let variable = Given3 { environment: &[("ANNALS_RPC", "https://one.example")], ..Given3::default() };
    assert_eq!(following(&variable).unwrap().lakes, []);
}

#[test]
fn without_an_rpc_nothing_is_followed_and_a_flag_that_says_how_is_refused() {
    let unmeant = Given3 { environment: &[("FROM", "a sender")], file: "lake = 'a'", ..Given3::default() };
    assert_eq!(unmeant.ask(Settings::following).unwrap(), None);
    for key in [Key::Lake, Key::Network, Key::From, Key::Pin, Key::DiskReserve] {
        let refusal = Given3 { flags: &[(key, "x")], ..Given3::default() }.ask(Settings::following).unwrap_err();
        assert_eq!(refusal.code(), "NO_RPC");
        let starts =
            format!("{} is for a server that follows a network, and no RPC is named: add --rpc URL", key.flag());
        assert!(refusal.to_string().starts_with(&starts), "{refusal}");
    }
}

#[test]
fn following_begins_with_one_ledger_and_leaves_bytes_of_the_disk() {
    let from = |text| Given3 { flags: &[(Key::From, text)], ..Given3::default() }.ask(Settings::follow_from);
    assert_eq!(from("63M").unwrap().unwrap().get(), 63_000_000);
    assert!(from("5:9").unwrap_err().to_string().ends_with("following has a first ledger and no last one"));
    let reserve = |file| Given3 { file, ..Given3::default() }.ask(Settings::disk_reserve);
    assert_eq!(reserve("disk_reserve = 1048576").unwrap(), Some(1 << 20));
    assert_eq!(reserve("disk_reserve = '2GiB'").unwrap(), Some(2 << 30));
    assert_eq!(
        reserve("disk_reserve = '2GB'").unwrap_err().to_string(),
        "disk_reserve in annals.toml is \"2GB\" and takes a number of bytes, also as 512MiB or 2GiB"
    );
}

#[test]
fn a_file_that_was_named_must_exist_and_the_default_one_need_not() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("other.toml");
    let environment = |_: &str| None;
    let refusal = Layers::load(Flags::default(), environment, Some(&missing)).err().unwrap().to_string();
    assert!(refusal.ends_with("other.toml cannot be read"), "{refusal}");
    fs::write(&missing, "data_dir = 'a'").unwrap();
    let layers = Layers::load(Flags::default(), environment, Some(&missing)).unwrap();
    assert_eq!(Settings::new(layers).data_dir().unwrap(), Path::new("a"));
}

#[test]
fn the_server_listens_on_loopback_where_nobody_says_otherwise() {
    let listen = |flags: &[(Key, &str)], environment: &[(&str, &str)], file: &str| {
        Given3 { flags, environment, file }.ask(Settings::listen).unwrap().to_string()
    };
    assert_eq!(listen(&[], &[], ""), "127.0.0.1:8787");
    assert_eq!(listen(&[], &[("PORT", "3001")], ""), "127.0.0.1:3001");
    assert_eq!(listen(&[], &[], "port = 3001"), "127.0.0.1:3001");
    assert_eq!(listen(&[(Key::Port, "1")], &[("PORT", "3001")], ""), "127.0.0.1:1");
    assert_eq!(listen(&[], &[("PORT", "3001")], "listen = '[::1]:80'"), "[::1]:80");
    assert_eq!(listen(&[(Key::Listen, "0.0.0.0:1")], &[("PORT", "2"), ("LISTEN", "0.0.0.0:3")], ""), "0.0.0.0:1");
    for (key, value) in [(Key::Listen, "8787"), (Key::Listen, ":80"), (Key::Port, "65536"), (Key::Port, "-1")] {
        let refusal = Given3 { flags: &[(key, value)], ..Given3::default() }.refusal(Settings::listen);
        assert!(refusal.starts_with(&format!("{} is \"{value}\" and takes ", key.flag())), "{refusal}");
    }
}

#[test]
fn every_origin_is_allowed_until_one_is_named() {
    let allowed = |text: &str| {
        Given3 { environment: &[("ALLOWED_ORIGIN", text)], ..Given3::default() }.ask(Settings::allowed_origins)
    };
    let listed = |origins: &[&str]| AllowedOrigins::Listed(origins.iter().map(|origin| (*origin).to_owned()).collect());
    assert_eq!(Given3::default().ask(Settings::allowed_origins).unwrap(), AllowedOrigins::Any);
    assert_eq!(allowed("*").unwrap(), AllowedOrigins::Any);
    let two = "https://wallet.example, http://localhost:3000";
    let origins = listed(&["https://wallet.example", "http://localhost:3000"]);
    assert_eq!(allowed(two).unwrap(), origins);
    for text in ["wallet.example", "https://wallet.example/", "https://Wallet.example", "null", "", "https://a b"] {
        assert!(allowed(text).unwrap_err().to_string().contains("takes * or an origin"), "{text}");
    }
}
