-- Sources and sinks of apps that somebody has paused, until they are resumed.
create table lockstep.pauses (
    app text not null,
    element text not null,
    since_ms bigint not null,
    who text not null,
    why text not null,
    primary key (app, element)
);
