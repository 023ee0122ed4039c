package record

// Record encodes it.
func (e Unknown) Record() Record { return Record{} }

// Record encodes it.
func (e Offset) Record() Record { return Record{} }

// Record encodes it.
func (e Classic) Record() Record { return Record{} }

// Record encodes it.
func (e ConsumerGroup) Record() Record { return Record{} }

// Record encodes it.
func (e ConsumerTopics) Record() Record { return Record{} }

// Record encodes it.
func (e ConsumerMember) Record() Record { return Record{} }

// Record encodes it.
func (e TargetEpoch) Record() Record { return Record{} }

// Record encodes it.
func (e TargetAssignment) Record() Record { return Record{} }

// Record encodes it.
func (e CurrentAssignment) Record() Record { return Record{} }

// Record encodes it.
func (e Regex) Record() Record { return Record{} }
