import { DatabaseError, type ClientBase, type Pool } from "pg";

/** SQLSTATE feature_not_supported and undefined_function: a database without timelines. */
const UNSUPPORTED = new Set(["0A000", "42883"]);

/** The name of the WAL file changes at a promotion, and the timeline in pg_control some time later. */
const IDENTITY = `select current_setting('transaction_read_only')::boolean as "readOnly",
  system_identifier::text as cluster, case when pg_is_in_recovery() then 0 else
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline
  from pg_control_system()`;

/** Which database a connection leads to. */
export interface Identity {
  readonly readOnly: boolean;
  /** Its system identifier; empty in a database without one. */
  readonly cluster: string;
  /** Increases with every promotion; 0 on a standby, and in a database without timelines. */
  readonly timeline: number;
}

const UNKNOWN: Identity = { readOnly: false, cluster: "", timeline: 0 };

/** Returns which database this is. */
export async function identityOf(database: Pool | ClientBase): Promise<Identity> {
  try {
    return (await database.query<Identity>(IDENTITY)).rows[0] ?? UNKNOWN;
  } catch (error) {
    if (error instanceof DatabaseError && UNSUPPORTED.has(error.code ?? "")) return UNKNOWN;
    throw error;
  }
}
