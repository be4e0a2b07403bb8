package pgwire

import (
	"context"

	"github.com/spiced-sql/spiced/internal/kit/memory"
)

// messageCopies is how many times its length a large message takes: its buffer, the values in it,
// and those on their way to a worker.
const messageCopies = 3

// maxCopyPart is the size of a part of the data of a COPY FROM that is counted once it has been
// read, with the data: a COPY that gets no memory then fails alone, where a message that
// cannot be read ends the connection.
const maxCopyPart = 1 << 20

// largeMessages count the memory of a connection's large messages, from before they are read until
// nothing of them is in use: they, the parameters of portals and the data of a COPY FROM.
type largeMessages struct {
	hold     func(bytes int64) (free func(), err error) // as [memory.Hold]
	giveBack func()                                     // everything
	keeps    func() bool                                // parameters are in use
	copying  bool                                       // a COPY FROM collects data
	frees    []func()                                   // give back what is held
	left     int                                        // bytes of the buffer of a message that are not read yet
}

// countMemory has large messages take memory for the principal, from now on.
func (c *conn) countMemory(ctx context.Context) {
	l := &c.in.large
	ctx, l.giveBack = c.server.opts.Memory.Begin(ctx, c.client.principal.Name)
	l.hold = func(bytes int64) (free func(), err error) { return memory.Hold(ctx, bytes) }
	l.keeps = func() bool { return c.store.size > memory.Free }
}

// take takes memory for that many bytes.
func (l *largeMessages) take(bytes int64) error {
	free, err := l.hold(bytes)
	if err == nil {
		l.frees = append(l.frees, free)
	}
	return err
}

// begin takes memory for what is read next into a buffer of that many bytes. pgproto3 reads a large
// message into a buffer of its size, maybe in several steps, and what follows it, once it was
// handled, into a small one.
func (l *largeMessages) begin(bytes int) error {
	switch {
	case l.hold == nil, l.left > 0 && bytes == l.left, l.copying && bytes <= maxCopyPart:
		return nil
	case bytes > memory.Free:
		l.left = bytes
		return l.take(int64(bytes) * messageCopies / memory.Copies)
	}
	l.left = 0
	if len(l.frees) > 0 && !l.copying && !l.keeps() {
		for _, free := range l.frees {
			free()
		}
		l.frees = nil
	}
	return nil
}

// read notes that so many bytes were read.
func (l *largeMessages) read(bytes int) { l.left -= min(bytes, l.left) }

// end gives everything back.
func (l *largeMessages) end() {
	if l.giveBack != nil {
		l.giveBack()
	}
}
