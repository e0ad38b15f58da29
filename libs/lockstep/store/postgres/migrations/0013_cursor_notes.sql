-- The place of a source whose other side names places by texts.
alter table lockstep.cursors add column note text not null default '';
