import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { reload } from "../reload.ts";

export async function refreshAccounts(): Promise<void> {
  await Promise.all([reload(AccountService.method.getAccount), reload("accounts"), reload("entries")]);
}
