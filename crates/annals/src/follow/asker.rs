//! Asks the source on a thread of its own, so that a request that hangs holds up neither a sign of life nor the end.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use annals_core::LedgerSeq;

use super::FollowError;
use crate::source::{Poll, Tip, TipSource};

/// What to ask for.
#[derive(Debug, Clone, Copy)]
enum Question {
    Tip,
    Protocol,
    Ledgers(LedgerSeq, u32),
}

#[derive(Debug)]
enum Answer {
    Tip(Option<Tip>),
    Protocol(Option<u32>),
    Ledgers(Poll),
}

/// Asks one question at a time. Its thread ends with it, or once the request that hangs does.
pub(super) struct Asker {
    questions: SyncSender<Question>,
    answers: Receiver<Answer>,
}

/// Whoever waits for an answer, every so often: whether to go on waiting.
pub(super) type Patience<'a> = &'a mut dyn FnMut() -> Result<bool, FollowError>;

/// How often whoever waits is asked.
const LOOK: Duration = Duration::from_millis(20);

impl Asker {
    pub(super) fn new(source: Arc<dyn TipSource>) -> std::io::Result<Self> {
        let (questions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let ask = move || {
            for question in asked {
                let answered = match question {
                    Question::Tip => Answer::Tip(source.tip()),
                    Question::Protocol => Answer::Protocol(source.protocol()),
                    Question::Ledgers(next, ledgers_max) => Answer::Ledgers(source.poll(next, ledgers_max)),
                };
                if answer.send(answered).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("follow: asker".to_owned()).spawn(ask)?;
        Ok(Self { questions, answers })
    }

    /// The source's tip; none when nobody answers, and when `patience` ended.
    pub(super) fn tip(&self, patience: Patience<'_>) -> Result<Option<Tip>, FollowError> {
        match self.ask(Question::Tip, patience)? {
            Some(Answer::Tip(tip)) => Ok(tip),
            _ => Ok(None),
        }
    }

    /// The highest protocol that the source's nodes know.
    pub(super) fn protocol(&self, patience: Patience<'_>) -> Result<Option<u32>, FollowError> {
        match self.ask(Question::Protocol, patience)? {
            Some(Answer::Protocol(protocol)) => Ok(protocol),
            _ => Ok(None),
        }
    }

    /// What came of asking for ledgers; none when `patience` ended.
    pub(super) fn poll(
        &self,
        next: LedgerSeq,
        ledgers_max: u32,
        patience: Patience<'_>,
    ) -> Result<Option<Poll>, FollowError> {
        match self.ask(Question::Ledgers(next, ledgers_max), patience)? {
            Some(Answer::Ledgers(poll)) => Ok(Some(poll)),
            _ => Ok(None),
        }
    }

    /// Whoever loses patience asks nothing more: the answer that is still to come would be taken for another's.
    fn ask(&self, question: Question, patience: Patience<'_>) -> Result<Option<Answer>, FollowError> {
        let broken = FollowError::Broken("the reader of the source");
        if self.questions.send(question).is_err() {
            return Err(broken);
        }
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(answer) => return Ok(Some(answer)),
                Err(RecvTimeoutError::Timeout) if patience()? => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(broken),
            }
        }
    }
}
