package process

// Level is a feature level: what a process knows how to deal with. 0 is below that of every
// process, so what needs it is for all of them.
type Level int

// The levels. Something that processes of older versions would get wrong takes the next one,
// with a line here that says what it is. A row of the database that needs a level is left
// alone by processes below it; see outbound.ProcessRepository.Require for what has to wait
// until there are none.
const (
	FirstRelease  Level = 1 // all that 0.1.0 does
	SecondRelease Level = 2 // and numbers in configurations that are spelled otherwise than in JSON, instants that are numbers, return, code, what nodes say of their attempts, runs that start others, and what triggers say of payloads and of runs at the same time

	Latest = SecondRelease // of this version
)
