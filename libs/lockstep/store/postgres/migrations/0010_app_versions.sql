-- Texts that were deployed, each as a version of its app. What is deployed, or is kept of an app that is not, is its first one.
create table lockstep.app_versions (
    app text not null,
    number bigint not null,
    text text not null,
    digest text not null,
    size_bytes bigint not null,
    deployed_ms bigint not null,
    who text not null,
    how text not null,
    primary key (app, number)
);

insert into lockstep.app_versions (app, number, text, digest, size_bytes, deployed_ms, who, how)
select app, 1, text, version, octet_length(convert_to(text, 'UTF8')), updated_ms, '', 'earlier'
from lockstep.deployments where not purged;
