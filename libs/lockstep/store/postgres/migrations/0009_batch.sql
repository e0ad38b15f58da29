-- Scheduled scripts, their versions and runs: an entry each, written in the place of the revision that its writer has seen.
create table lockstep.batch (
    kind text not null,
    script text not null,
    key bigint not null,
    text text not null,
    revision bigint not null,
    is_open boolean not null,
    primary key (kind, script, key)
);

create index batch_open on lockstep.batch (kind, script, key) where is_open;
