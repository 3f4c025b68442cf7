-- What a lease that ended by its time says of the run: 1 that its process ended while it
-- worked on it, 2 that it is being tried alone, 3 that its process ended during that.

-- +goose Up
ALTER TABLE runs ADD COLUMN alone integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE runs DROP COLUMN alone;
