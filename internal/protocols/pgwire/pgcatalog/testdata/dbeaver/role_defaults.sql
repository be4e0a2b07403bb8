SELECT DISTINCT e.* FROM (
    SELECT *, (aclexplode(defaclacl)).grantee AS grantee FROM pg_default_acl d WHERE d.defaclnamespace <> 0
) AS e
WHERE pg_get_userbyid(e.grantee) = 'spice'
