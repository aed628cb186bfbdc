//! What threads of control code have told: answers and events are passed on, and what has failed begins anew or is left off.

use super::*;
impl Session {
    /// A Lua thread has told something.
    pub(crate) fn lua_told(&mut self, id: LuaId, told: Told) -> Result<(), SessionError> {
        match told {
            Told::Done(done) if self.control.is(id) => {
                let (reports, batch) = self.control.heard();
                self.say_batch(reports, batch)?;
                let messages = self.control.done(*done);
                messages.iter().try_for_each(|message| self.say(message))
            }
            Told::Done(done) if self.is_connecting(id) => {
                done.messages.iter().try_for_each(|message| self.say(message))?;
                self.connected(id, Ok(()))
            }
            Told::Done(done) => self.retired_done(id, *done),
            Told::Loaded(prepared) if self.control.is(id) => match prepared {
                Ok(prepared) if prepared.fingerprint == self.control.fingerprint => self.begin_control(),
                Ok(_) => self.leave_control_off("the scripts' files are others by now"),
                Err(error) => self.leave_control_off(&error.to_string()),
            },
            Told::Loaded(prepared) => self.loaded(id, prepared),
            Told::Connected(outcome) => self.connected(id, outcome),
        }
    }

    /// The state before, which has what the present one takes over, has come to its end when all have.
    fn catch_up_behind_all(&mut self) {
        if self.retired_control.is_empty() {
            self.control.catch_up();
        }
    }

    fn retired_done(&mut self, id: LuaId, done: Done) -> Result<(), SessionError> {
        let at = self.retired_control.iter().position(|retired| retired.thread.id() == id);
        let Some(at) = at else { return Ok(()) };
        let RetiredControl { thread, reply } = self.retired_control.swap_remove(at);
        self.catch_up_behind_all();
        if let Some(reply) = reply {
            reply.send(done.answer.unwrap_or(Ok(Value::Null)));
        }
        let reports = thread.take_reports();
        reports.iter().flatten().chain(&done.messages).try_for_each(|message| self.say(message))
    }

    /// Shows a message; an event goes to those who listen, too, and with it what is there by now.
    pub(crate) fn show(&mut self, message: Message) -> Result<(), SessionError> {
        self.say(&message)?;
        match &message {
            message if event_of(message).is_some_and(|event| self.control.hears(&event)) => {}
            _ => return Ok(()),
        }
        let mut batch = vec![message];
        let again = self.again.len().min(BATCH - 1);
        batch.extend(self.again.drain(..again));
        if self.again.is_empty() {
            for message in self.inbox.more(BATCH - batch.len()) {
                batch.push(message?);
            }
        }
        self.control.hear(batch)
    }

    /// Shows the messages of a batch, and behind each event what came of it. From the first event on that was not seen to, they come
    /// again.
    fn say_batch(&mut self, reports: Vec<Vec<Message>>, batch: Vec<Message>) -> Result<(), SessionError> {
        let (mut reports, mut batch) = (reports.into_iter(), batch.into_iter());
        if batch.next().is_some() {
            reports.next().iter().flatten().try_for_each(|message| self.say(message))?;
        }
        while let Some(message) = batch.next() {
            let report = match event_of(&message) {
                Some(_) => match reports.next() {
                    Some(report) => report,
                    None => {
                        self.again = [message].into_iter().chain(batch).chain(self.again.drain(..)).collect();
                        return Ok(());
                    }
                },
                None => Vec::new(),
            };
            self.say(&message)?;
            report.iter().try_for_each(|message| self.say(message))?;
        }
        Ok(())
    }

    /// As [`Session::say_batch`], of a state that is left. The event that it is at does not come again.
    pub(crate) fn leave_batch(&mut self) -> Result<(), SessionError> {
        let (reports, batch) = self.control.heard_last();
        self.say_batch(reports, batch)
    }

    pub(crate) fn say(&mut self, message: &Message) -> Result<(), SessionError> {
        // These are bytes from a network, for control code alone.
        if matches!(message, Message::Event(notice) if *notice.name == *moonhook_load::UPDATE_EVENT) {
            return Ok(());
        }
        self.publisher.publish(|| crate::announce::message_json(message));
        self.audience.message(message)
    }

    /// Leaves a state behind that does not come to an end, and begins anew. To be called again and again.
    pub(crate) fn look_after_control(&mut self) -> Result<(), SessionError> {
        if let Some(Err(error)) = self.control.thread.as_mut().map(LuaThread::look_after) {
            self.give_up_job(&error.to_string())?;
            return self.leave_control_off(&error.to_string());
        }
        let limit = moonhook_control::Options::default().time_limit;
        let before = self.retired_control.len();
        self.retired_control.retain_mut(|retired| {
            let overruns = retired.thread.exceeds(limit);
            if overruns {
                retired.thread.leave_behind();
            }
            !overruns && !retired.thread.has_ended()
        });
        if self.retired_control.len() < before {
            self.catch_up_behind_all();
        }
        if !self.control.overruns() {
            return Ok(());
        }
        let seconds = moonhook_control::Options::default().time_limit.as_secs();
        let problem = format!(
            "the function was stopped: it ran for more than {seconds} seconds, inside a function of the library"
        );
        self.give_up_job(&problem)?;
        if let Some(thread) = self.control.thread.take() {
            thread.leave_behind();
        }
        self.complain(format!("{problem}; its Lua state is left behind"))?;
        if self.control.beginnings >= BEGINNINGS {
            return self.leave_control_off("that has happened too often");
        }
        self.control.beginnings += 1;
        match LuaThread::load(self.control.sources.clone(), &self.inbox, None) {
            Ok(thread) => (self.control.thread, self.control.state) = (Some(thread), State::Beginning),
            Err(error) => return self.leave_control_off(&error.to_string()),
        }
        Ok(())
    }

    /// Shows what came of the present job so far, and tells who waits for it that there will be no more.
    fn give_up_job(&mut self, problem: &str) -> Result<(), SessionError> {
        self.leave_batch()?;
        if let State::Busy(Work { reply: Some(reply), is_flow, .. }) =
            std::mem::replace(&mut self.control.state, State::Idle)
        {
            reply.send(unfinished(is_flow, problem));
        }
        Ok(())
    }

    /// Load time has given the same once more: the new state has the present program's tables and variables.
    fn begin_control(&mut self) -> Result<(), SessionError> {
        let Installed { layout, kernel, tables, flows, .. } = &self.installed;
        let connection = Connection::again(layout, &kernel.program, tables).map(|connection| match flows {
            Some((tables, maker)) => connection.with_flows(Arc::clone(tables), Box::new(maker.again())),
            None => connection,
        });
        let connected =
            connection.map_err(SessionError::from).and_then(|connection| match &self.control.thread {
                Some(thread) => thread.connect(connection),
                None => Err(SessionError::LuaGone),
            });
        if let Err(error) = connected {
            return self.leave_control_off(&error.to_string());
        }
        (self.control.state, self.control.due) = (State::Idle, Some(Instant::now()));
        self.control.listened_to = BTreeSet::new();
        self.complain("control code has begun anew, with the variables of load time".to_string())
    }

    fn leave_control_off(&mut self, why: &str) -> Result<(), SessionError> {
        (self.control.thread, self.control.state) = (None, State::Idle);
        for (job, reply) in std::mem::take(&mut self.control.waiting) {
            reply.send(unfinished(is_flow(&job), self.control.left_off()));
        }
        self.complain(format!("{}: {why}", self.control.left_off()))
    }

    /// Shows an error that is no handler's.
    pub(crate) fn complain(&mut self, message: String) -> Result<(), SessionError> {
        let message = Text::whole(message.into_bytes());
        self.say(&Message::Error(RuntimeFailure { message, traceback: Vec::new() }))
    }
}
