//! Asks the source on a thread of its own, so that a request that hangs holds up neither a sign of life nor the end, and
//! the next page can be fetched while one is taken.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use annals_core::LedgerSeq;

use super::FollowError;
use crate::source::{LedgerObject, Poll, RequestFault, Tip, TipSource};

/// What to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Announced,
    Protocol,
    Ledger(LedgerSeq),
    Ledgers(LedgerSeq, u32),
}

#[derive(Debug)]
enum Answer {
    Announced(Vec<Result<Tip, Arc<RequestFault>>>),
    Protocol(Option<u32>),
    Ledger(Result<LedgerObject, Option<Arc<RequestFault>>>),
    Ledgers(Poll),
}

/// Asks one question at a time. Its thread ends with it, or once the request that hangs does.
pub(super) struct Asker {
    questions: SyncSender<Question>,
    answers: Receiver<Answer>,
    /// What is asked already, and whose answer nobody has waited for yet.
    ahead: Option<Question>,
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
                    Question::Announced => Answer::Announced(source.announced()),
                    Question::Protocol => Answer::Protocol(source.protocol()),
                    Question::Ledger(seq) => Answer::Ledger(source.serve(seq)),
                    Question::Ledgers(next, ledgers_max) => Answer::Ledgers(source.poll(next, ledgers_max)),
                };
                if answer.send(answered).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("follow: asker".to_owned()).spawn(ask)?;
        Ok(Self { questions, answers, ahead: None })
    }

    /// What each endpoint says of its tip; nothing when `patience` ended.
    pub(super) fn announced(
        &mut self,
        patience: Patience<'_>,
    ) -> Result<Vec<Result<Tip, Arc<RequestFault>>>, FollowError> {
        match self.ask(Question::Announced, patience)? {
            Some(Answer::Announced(announced)) => Ok(announced),
            _ => Ok(Vec::new()),
        }
    }

    /// Ledger `seq` of whoever says that it has it; none, and why, where nobody gives it and when `patience` ended.
    pub(super) fn ledger(
        &mut self,
        seq: LedgerSeq,
        patience: Patience<'_>,
    ) -> Result<Result<LedgerObject, Option<Arc<RequestFault>>>, FollowError> {
        match self.ask(Question::Ledger(seq), patience)? {
            Some(Answer::Ledger(ledger)) => Ok(ledger),
            _ => Ok(Err(None)),
        }
    }

    /// The highest protocol that the source's nodes know.
    pub(super) fn protocol(&mut self, patience: Patience<'_>) -> Result<Option<u32>, FollowError> {
        match self.ask(Question::Protocol, patience)? {
            Some(Answer::Protocol(protocol)) => Ok(protocol),
            _ => Ok(None),
        }
    }

    /// What came of asking for ledgers; none when `patience` ended.
    pub(super) fn poll(
        &mut self,
        next: LedgerSeq,
        ledgers_max: u32,
        patience: Patience<'_>,
    ) -> Result<Option<Poll>, FollowError> {
        match self.ask(Question::Ledgers(next, ledgers_max), patience)? {
            Some(Answer::Ledgers(poll)) => Ok(Some(poll)),
            _ => Ok(None),
        }
    }

    /// Begins to ask for ledgers that are going to be asked for next. What comes of it is dropped where others are.
    pub(super) fn poll_ahead(&mut self, next: LedgerSeq, ledgers_max: u32) -> Result<(), FollowError> {
        match self.ahead {
            Some(_) => Ok(()),
            None => self.begin(Question::Ledgers(next, ledgers_max)),
        }
    }

    fn begin(&mut self, question: Question) -> Result<(), FollowError> {
        self.ahead = Some(question);
        self.questions.send(question).map_err(|_| Self::broken())
    }

    /// What is still to come of another question is waited for and dropped.
    fn ask(&mut self, question: Question, patience: Patience<'_>) -> Result<Option<Answer>, FollowError> {
        if self.ahead.is_some_and(|ahead| ahead != question) && self.answer(patience)?.is_none() {
            return Ok(None);
        }
        if self.ahead.is_none() {
            self.begin(question)?;
        }
        self.answer(patience)
    }

    /// Waits for the answer to what is asked.
    fn answer(&mut self, patience: Patience<'_>) -> Result<Option<Answer>, FollowError> {
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(answer) => {
                    self.ahead = None;
                    return Ok(Some(answer));
                }
                Err(RecvTimeoutError::Timeout) if patience()? => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(Self::broken()),
            }
        }
    }

    fn broken() -> FollowError {
        FollowError::Broken("the reader of the source")
    }
}
