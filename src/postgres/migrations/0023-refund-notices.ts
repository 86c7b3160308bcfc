import { Migration } from "@mikro-orm/migrations";

/** Tells every instance when a charge was given back, as its receipt says so from now on. The payload is the run, in hex. */
export class RefundNotices extends Migration {
  override name = "0023-refund-notices";

  override up(): void {
    this.addSql(/* sql */ `
      create function notify_refund() returns trigger language plpgsql as $$
      begin
        perform pg_notify('toolgate_refund', encode(new.ref, 'hex'));
        return null;
      end $$`);
    this.addSql(/* sql */ `
      create trigger refund_notice after insert on transfer
      for each row when (new.kind = 'refund') execute function notify_refund()`);
  }
}
