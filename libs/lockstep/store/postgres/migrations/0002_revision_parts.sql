-- A state may be larger than one value should be: what `state` does not hold stands here, in order.
create table lockstep.revision_parts (
    revision_id text not null references lockstep.revisions (id) on delete cascade,
    part integer not null,
    bytes bytea not null,
    primary key (revision_id, part)
);
