/** By which way a call goes out: of which instance, where there are several. */
export interface Way {
  egress: string;
  instance: string;
}

/** As the upstream tells callers apart. */
export function addressOf({ egress, instance }: Way): string {
  return instance === "" ? egress : `${egress}@${instance}`;
}
