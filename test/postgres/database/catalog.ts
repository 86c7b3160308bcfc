import { query } from "../../support/database-server.ts";

/** Compares two schemas regardless of the order of columns. */
export const CATALOG: readonly (readonly [string, string])[] = [
  [
    "functions",
    `select pg_get_functiondef(oid) as it, proacl::text from pg_proc
     where pronamespace = 'public'::regnamespace and prokind = 'f'`,
  ],
  [
    "columns",
    `select relname || '.' || attname || ' ' || format_type(atttypid, atttypmod) || attnotnull as it
     from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped
       and relkind in ('r', 'p', 'c', 'v')`,
  ],
  ["views", "select viewname || definition as it from pg_views where schemaname = 'public'"],
  ["indexes", "select indexdef as it from pg_indexes where schemaname = 'public'"],
  [
    "constraints",
    `select conname || pg_get_constraintdef(oid) as it from pg_constraint
     where connamespace = 'public'::regnamespace`,
  ],
  ["triggers", "select pg_get_triggerdef(oid) as it from pg_trigger where not tgisinternal"],
  [
    "rights",
    `select relname || coalesce(relacl::text, '') as it from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
     union all
     select attrelid::regclass || attname || attacl::text from pg_attribute
     join pg_class on pg_class.oid = attrelid
     where relnamespace = 'public'::regnamespace and attacl is not null`,
  ],
];

export async function catalogOf(url: string, text: string): Promise<unknown[]> {
  return (await query(url, `${text} order by 1`)).rows;
}
