package archive

// LogInfo is a log and the rows of it that count: those of segments, or rewound, are
// left out.
type LogInfo struct {
	File        string    `json:"file"`
	StoredBytes int64     `json:"stored_bytes"` // of the file
	Tables      []LogRows `json:"tables"`       // in the order of creation; empty where no row counts
}

// LogRows are the rows that a table has in one log.
type LogRows struct {
	Table       string `json:"table"`
	FirstRow    uint64 `json:"first_row"`
	Rows        uint64 `json:"rows"`
	File        string `json:"file"`         // log-000042
	RawBytes    uint64 `json:"raw_bytes"`    // of the values
	StoredBytes int64  `json:"stored_bytes"` // of their frames in the log
}

// Logs returns the logs, in the order of their numbers, with what each has of the named
// tables, or of all where none is named. ErrNoTable.
func (a *Archive) Logs(tables ...string) ([]LogInfo, error) {
	a.commits.Lock() // logs and rows of one moment
	defer a.commits.Unlock()
	picked, err := a.state.Load().pick(tables)
	if err != nil {
		return nil, err
	}
	all := make([]LogInfo, 0, len(a.logs))
	for _, l := range a.logs {
		st, err := l.f.Stat()
		if err != nil {
			return nil, ioError("asking for the size of", l.path, err)
		}
		i := LogInfo{File: logName(l.number), StoredBytes: st.Size(), Tables: []LogRows{}}
		for _, t := range picked {
			if r := t.inLog(l); r.Rows > 0 {
				i.Tables = append(i.Tables, r)
			}
		}
		all = append(all, i)
	}
	return all, nil
}

// inLog returns the rows that the table has in a log.
func (t *tableState) inLog(l *logFile) LogRows {
	r := LogRows{Table: t.name, File: logName(l.number)}
	for i := range t.frames {
		f := &t.frames[i]
		if f.log != l {
			continue
		}
		if r.Rows == 0 {
			r.FirstRow = f.first
		}
		r.Rows += uint64(f.rows)
		r.RawBytes += uint64(f.raw)
		r.StoredBytes += int64(f.size)
	}
	return r
}
