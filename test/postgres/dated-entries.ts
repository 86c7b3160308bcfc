/**
 * Returns SQL that runs the update of receipts, whose operators' actions then name the new identifiers.
 * @param update returns "old" and "id"
 */
export function renamedReceipts(update: string): string {
  const nameOf = (id: string) => `'rcpt_' || encode(uuid_send(${id}), 'hex')`;
  return `
    with renamed as (${update})
    update operator_action set target = ${nameOf("renamed.id")} from renamed
    where target = ${nameOf("old")}`;
}

/**
 * Returns SQL for the tables' owner that removes all seals and counted usage, and dates all entries evenly
 * over the last forty days, in order, with the identifiers of these times.
 * @param change a statement that moves times (`at`) in the table `dated` before that
 */
export function datingOfEntries(change = "select"): string {
  return `
    begin;
    create temporary table dated on commit drop as
      select id, now() - interval '40 days' + interval '40 days' * (row_number() over (order by id)) /
        (count(*) over ()) as at from ledger_entry;
    ${change};
    alter table transfer disable trigger append_only;
    alter table receipt disable trigger append_only;
    update transfer set created_at = at, id = ledger_id(at) from dated where dated.id = transfer.id;
    alter table operator_action disable trigger append_only;
    ${renamedReceipts(`
      update receipt set created_at = at, id = ledger_id(at) from dated where dated.id = receipt.id
      returning dated.id as old, receipt.id`)};
    alter table operator_action enable trigger append_only;
    update revenue_mark set counted_to = '00000000-0000-0000-0000-000000000000', amount = 0;
    alter table audit_seal disable trigger append_only;
    alter table audit_part disable trigger append_only;
    truncate audit_seal, audit_part, audit_sum, usage_slot;
    update usage_mark set counted_to = '-infinity';
    alter table audit_seal enable trigger append_only;
    alter table audit_part enable trigger append_only;
    alter table transfer enable trigger append_only;
    alter table receipt enable trigger append_only;
    commit`;
}
