create table lockstep.epochs (
    name text primary key,
    epoch bigint not null
);

create table lockstep.deployments (
    app text primary key,
    text text not null,
    version text not null,
    generation bigint not null,
    replicas integer not null,
    created_ms bigint not null,
    updated_ms bigint not null,
    settings jsonb not null
);

create table lockstep.placements (
    app text primary key,
    nodes text[] not null
);

create table lockstep.revisions (
    id text primary key,
    app text not null,
    group_name text not null,
    partition integer not null,
    version text not null,
    position bigint not null,
    created_ms bigint not null,
    size_bytes bigint not null,
    verified boolean not null,
    epoch bigint not null,
    checksum bytea not null,
    state bytea not null
);

create index revisions_by_log on lockstep.revisions (app, group_name, partition, position desc);

create table lockstep.cursors (
    sink text primary key,
    sequence bigint not null
);
