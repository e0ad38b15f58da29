-- Users, groups, and tokens (hashed): JSON by kind and name. The revision grows with each change.
create table lockstep.accounts (
    kind text not null,
    name text not null,
    text text not null,
    primary key (kind, name)
);

create table lockstep.accounts_revision (
    one boolean primary key default true check (one),
    revision bigint not null
);

insert into lockstep.accounts_revision (revision) values (0);
