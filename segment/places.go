package segment

import "iter"

// Places yields every part of the file in order: together they tile it. A front
// record of the table, schema or layout is one place, as is each dictionary, each
// frame and each stored block.
func (r *Reader) Places() iter.Seq[Place] {
	return func(yield func(Place) bool) {
		off := int64(0)
		emit := func(p Place, n int64) bool {
			p.File, p.Offset, p.Length = r.o.Name, off, n
			off += n
			return yield(p)
		}
		part := func(s Section, n int64) bool { return emit(Place{Section: s, Chunk: -1}, n) }
		if !part(SectionHeader, headerSize) {
			return
		}
		for _, rec := range r.dir.records() {
			if !emit(Place{Section: rec.kind.section(), Chunk: -1, Block: rec.index}, int64(rec.size())) {
				return
			}
		}
		t := r.dir.chunks
		for i := range t.len() {
			at := Place{Section: SectionFrame, Chunk: i, FirstRow: t.first[i], Rows: uint64(t.rows(i))}
			if !emit(at, int64(frameSize(t.first[i], t.rows(i), t.lengths(i)))) {
				return
			}
			for c := range r.coder.columns {
				cc := &r.coder.columns[c]
				for b := range cc.blocks {
					n := int64(t.lengths(i)[cc.base+b])
					if n == 0 {
						continue
					}
					at.Section, at.Column, at.Block = SectionBlock, cc.name, b
					if !emit(at, n) {
						return
					}
				}
			}
		}
		_ = part(SectionDirectory, int64(r.footer.dirLength)) && part(SectionFooter, footerSize)
	}
}
