-- Health of a JobSet (jobset.x-k8s.io/v1alpha2) by its conditions. No string library: Argo CD opens none.
local status = obj.status or {}
local spec = obj.spec or {}

local function health(code, message)
  return { status = code, message = message }
end

local holds = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" then
    holds[condition.type] = condition.message or condition.reason or condition.type
  end
end

if holds.Failed or status.terminalState == "Failed" then
  return health("Degraded", holds.Failed or "failed")
end
if holds.Completed or status.terminalState == "Completed" then
  return health("Healthy", holds.Completed or "completed")
end
if holds.Suspended then
  return health("Suspended", holds.Suspended)
end
if spec.suspend and obj.status == nil then
  return health("Suspended", "created suspended")
end

local restarts = ""
if (status.restarts or 0) > 0 then
  restarts = ", restarted " .. status.restarts .. (status.restarts == 1 and " time" or " times")
end
if holds.RestartingJobSet then
  return health("Progressing", "restarting: " .. holds.RestartingJobSet .. restarts)
end
if obj.status == nil then
  return health("Progressing", "not seen by the JobSet controller yet")
end

local expected = {}
for _, job in ipairs(spec.replicatedJobs or {}) do
  expected[job.name] = job.replicas or 1
end
local parts = {}
for _, job in ipairs(status.replicatedJobsStatus or {}) do
  local all = expected[job.name] or "?"
  if (job.succeeded or 0) > 0 then
    table.insert(parts, job.name .. " " .. job.succeeded .. "/" .. all .. " succeeded")
  else
    table.insert(parts, job.name .. " " .. (job.ready or 0) .. "/" .. all .. " ready")
  end
end
local message = "jobs: " .. table.concat(parts, ", ")
if #parts == 0 then
  message = "no job yet"
end
if holds.StartupPolicyInProgress then
  message = "starting in order, " .. message
end
return health("Progressing", message .. restarts)
