-- The role that the gateways serve with; `migrate --grant-to` gives it its rights.
\set password `cat /run/secrets/serving_password`
create role toolgate_serving login password :'password';
