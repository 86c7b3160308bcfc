/**
 * Puts a function that gateways call in the place of the one that an earlier migration made. Written again it has lost what 0012 and 0021
 * gave it: its owner's rights, and plans that are kept.
 */
export function anew(name: "ledger_begin" | "ledger_finish", text: string): readonly string[] {
  return [
    text,
    /* sql */ `alter function ${name} security definer set search_path = public, pg_temp`,
    /* sql */ `revoke execute on function ${name} from public`,
    /* sql */ `alter function ${name} set plan_cache_mode = force_generic_plan`,
  ];
}
