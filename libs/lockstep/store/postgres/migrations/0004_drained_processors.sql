-- Processors that shall carry nothing, until that is taken back.
create table lockstep.drained (
    node text primary key
);
