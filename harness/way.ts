/** The egress of a call, and its instance if there are several. */
export interface Way {
  egress: string;
  instance: string;
}

/** The address by which the upstream distinguishes callers. */
export function addressOf({ egress, instance }: Way): string {
  return instance === "" ? egress : `${egress}@${instance}`;
}
