-- What was deployed last is kept when an app is undeployed: the same text goes on from it. Of a purged
-- app only the time is kept, so that whatever is deployed under its name later counts as later.
alter table lockstep.deployments
    add column removed boolean not null default false,
    add column purged boolean not null default false;
