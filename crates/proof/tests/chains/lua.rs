//! Random chains as Lua, in real Lua: what the interpreter makes of them.

use super::generator::script;
use super::{Packet, inputs, interpreted};
use mlua::{Function, Lua, MultiValue, Table, Value};
use moonhook_eclat::eval::run;
use moonhook_eclat::lua::{self, Callees};
use moonhook_eclat::tree::{Chain, Chains};
use moonhook_proof::host;
use std::cell::RefCell;
use std::rc::Rc;

/// What the chains call that is no Lua: steps, each with its number.
#[derive(Default)]
struct Steps(Vec<Chains>);

impl Callees for Steps {
    fn function(&self, _: usize) -> Option<lua::Function> {
        None
    }

    fn chain(&mut self, number: usize) -> usize {
        panic!("the chain {number} is in Lua")
    }

    fn step(&mut self, chain: Chain) -> usize {
        self.0.push(Chains { chains: vec![chain], ..Chains::default() });
        self.0.len() - 1
    }
}

const END: &str = "the packet ends before";

/// The functions in Lua that chains are, by their names, for that packet.
fn functions(lua: &Lua, chains: &Chains, packet: &Rc<RefCell<Packet>>) -> Table {
    let all: Vec<usize> = (0..chains.chains.len()).collect();
    let mut steps = Steps::default();
    let text = lua::write(chains, &all, &mut steps);
    let packet = Rc::clone(packet);
    let call = lua.create_function(move |_, arguments: MultiValue| {
        let number = arguments[0].as_usize().expect("a number comes first");
        let words: Vec<u64> =
            arguments.iter().skip(2).map(|word| word.as_integer().expect("an integer") as u64).collect();
        let given = run(&steps.0[number], 0, &words, &mut *packet.borrow_mut());
        given.map(|word| word as i64).map_err(|()| mlua::Error::runtime(END))
    });
    let chunk = lua.load(&text).set_name("=chains");
    chunk.call(call.expect("a function can be made")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn chains_in_lua_compute_the_same() {
    let (count, first) = (host::setting("MOONHOOK_CHAINS", 500), host::setting("MOONHOOK_CHAINS_SEED", 1));
    let lua = Lua::new();
    let mut ended = 0;
    for seed in first..first + count {
        let source = script(seed, 0, false).eclat;
        let chains =
            moonhook_eclat::read(&source, "random.eclat").unwrap_or_else(|error| panic!("{}", error.line()));
        let packet = Rc::new(RefCell::new(Packet(Vec::new())));
        let main: Function = functions(&lua, &chains, &packet).get("main0").expect("there is a main chain");
        let all = inputs(seed);
        for (input, expected) in all.iter().zip(interpreted(&source, 0, &all)) {
            *packet.borrow_mut() = Packet(input.bytes.clone());
            let [a, b] = input.arguments.map(|word| Value::Integer(word as i64));
            let given: mlua::Result<i64> = main.call((Value::Nil, a, b));
            let given = match given {
                Ok(number) => (number as u64).to_string(),
                Err(error) => {
                    assert!(error.to_string().contains(END), "seed {seed}: {error}\n{source}");
                    "end".to_string()
                }
            };
            let bytes: String = packet.borrow().0.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(format!("{given} {bytes}"), expected, "seed {seed}, {:x?}\n{source}", input.arguments);
            ended += u64::from(given == "end");
        }
    }
    assert!(ended > 0 && ended < count * 10, "{ended} of {count} chains ended before");
}
