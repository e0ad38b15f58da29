-- What people made for pages: dashboards, as JSON texts.
create table lockstep.documents (
    kind text not null,
    name text not null,
    text text not null,
    primary key (kind, name)
);
