/** The egress of a call, and its instance if there are several. */
export interface EgressAddress {
  egress: string;
  instance: string;
}

/** The address by which the upstream distinguishes callers. */
export function addressOf({ egress, instance }: EgressAddress): string {
  return instance === "" ? egress : `${egress}@${instance}`;
}
