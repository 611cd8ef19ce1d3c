package archive

import "sync/atomic"

// failure is the first change of which nobody knows whether it is durable: nothing is
// changed behind it.
type failure struct{ err atomic.Pointer[error] }

func (f *failure) get() error {
	if e := f.err.Load(); e != nil {
		return *e
	}
	return nil
}

func (f *failure) set(err error) { f.err.CompareAndSwap(nil, &err) }
