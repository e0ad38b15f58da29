-- Who did what, when, from where, refused or not. Rows are added, and go when they are old enough.
create table lockstep.audit (
    id bigint generated always as identity primary key,
    at_ms bigint not null,
    who text not null,
    address text not null,
    forwarded text not null,
    method text not null,
    route text not null,
    path text not null,
    app text not null,
    status integer not null,
    node text not null
);

create index audit_at on lockstep.audit (at_ms);
