//go:build !linux

package archive

func diskLock(string) LockState { return LockUnknown }
