-- How much an app's metrics shall tell, where somebody has said so beside its text.
create table lockstep.levels (
    app text primary key,
    level text not null
);
