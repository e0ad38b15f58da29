-- How apps were doing, as it was sampled and made coarser: a row for each app and time. `span` is MessagePack.
create table lockstep.figures_fine (
    app text not null,
    at_ms bigint not null,
    span bytea not null,
    primary key (app, at_ms)
);

create index figures_fine_at on lockstep.figures_fine (at_ms);

create table lockstep.figures_coarse (
    app text not null,
    at_ms bigint not null,
    span bytea not null,
    primary key (app, at_ms)
);

create index figures_coarse_at on lockstep.figures_coarse (at_ms);

-- Who took the lead of a unit from whom. The term of a lead tells it from all others of the unit.
create table lockstep.failovers (
    app text not null,
    group_name text not null,
    partition integer not null,
    deployed_ms bigint not null,
    epoch bigint not null,
    at_ms bigint not null,
    from_node text not null,
    to_node text not null,
    planned boolean,
    why text not null,
    gap_ms bigint,
    primary key (app, group_name, partition, deployed_ms, epoch)
);

create index failovers_at on lockstep.failovers (at_ms);
